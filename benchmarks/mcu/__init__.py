"""Running models on emulated microcontrollers, and counting their instructions."""
