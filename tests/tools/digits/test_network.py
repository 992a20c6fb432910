import numpy as np

from tools.digits import network


def test_the_gradient_of_every_parameter_is_that_of_finite_differences() -> None:
    generator = np.random.default_rng(4)
    # Not the initial biases: with a bias of zero, a ReLU of nothing sits on its kink.
    parameters = {
        name: value + generator.normal(0.0, 0.1, value.shape)
        for name, value in network.initial_parameters(generator).items()
    }
    data, labels = generator.random((3, 8, 8, 1)), np.array([1, 0, 7])
    _, gradients = network.loss_and_gradients(parameters, data, labels)

    assert gradients.keys() == parameters.keys()
    for name, gradient in gradients.items():
        direction = generator.normal(size=gradient.shape)
        losses = []
        for offset in (1e-6, -1e-6):  # too short for a ReLU to change sides
            moved = parameters | {name: parameters[name] + offset * direction}
            losses.append(network.loss_and_gradients(moved, data, labels)[0])
        difference = (losses[0] - losses[1]) / 2e-6
        # The loss, about 3, is known to about 1e-15: a difference of two, divided by 2e-6.
        np.testing.assert_allclose(
            (gradient * direction).sum(), difference, rtol=1e-6, atol=1e-8, err_msg=name
        )


def test_a_batch_is_its_pictures_one_by_one() -> None:
    generator = np.random.default_rng(5)
    parameters = network.initial_parameters(generator)
    data = generator.random((4, 8, 8, 1))

    together = network.run(parameters, data)["logits"]
    alone = [network.run(parameters, picture[None])["logits"][0] for picture in data]

    # BLAS may sum in another order for another batch.
    np.testing.assert_allclose(together, alone, rtol=1e-10, atol=1e-12)
