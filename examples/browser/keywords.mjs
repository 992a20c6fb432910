// Listens to a wave file, with the keyword spotter of MLPerf Tiny as a module of WebAssembly. It runs
// in browsers and in node. Pages call `listen`.

export const WORDS = [
  ...["down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes"],
  ...["(silence)", "(another word)"],
];

const RATE = 16000; // samples a second
const LENGTH = 480; // samples of a window: 30 ms
const HOP = 320; // from one window to the next
const FRAMES = 49; // windows of a second
const SIZE = 512; // of the transform; the window is padded
const BANDS = 40; // of frequencies, equally wide to the ear
const FEATURES = 10; // of each window

// The first channel's samples in a file of 16 bits: a second, padded, scaled to a highest sample of 1.
export function samplesOf(file) {
  const view = new DataView(file);
  const name = (place) => String.fromCharCode(...new Uint8Array(file, place, 4));
  if (file.byteLength < 12 || name(0) !== "RIFF" || name(8) !== "WAVE") throw Error("no wave file");
  let channels = 0;
  for (let place = 12; place + 8 <= file.byteLength; ) {
    const size = view.getUint32(place + 4, true);
    const start = place + 8;
    if (name(place) === "fmt ") {
      channels = view.getUint16(start + 2, true);
      const [rate, bits] = [view.getUint32(start + 4, true), view.getUint16(start + 14, true)];
      if (view.getUint16(start, true) !== 1 || rate !== RATE || bits !== 16 || !channels)
        throw Error(`needs 16 bits at ${RATE} samples a second, got ${bits} at ${rate}`);
    }
    if (name(place) === "data" && channels) {
      const count = Math.min(RATE, Math.floor(Math.min(size, file.byteLength - start) / 2 / channels));
      const samples = new Float64Array(RATE);
      for (let i = 0; i < count; i++) samples[i] = view.getInt16(start + 2 * i * channels, true);
      const highest = samples.reduce((a, b) => Math.max(a, b)) || 1;
      return samples.map((x) => x / highest);
    }
    place = start + size + (size % 2);
  }
  throw Error("no samples in the file");
}

// The loudness of frequencies in each window, in the form of the model's training data: the cepstrum
// of the logarithm of bands, FRAMES * FEATURES numbers.
export function featuresOf(samples) {
  const bands = bandWeights();
  const found = new Float64Array(FRAMES * FEATURES);
  for (let frame = 0; frame < FRAMES; frame++) {
    const loudness = spectrum(samples.subarray(frame * HOP, frame * HOP + LENGTH));
    const logs = bands.map((band) => {
      let sum = 0;
      for (let k = 0; k < band.length; k++) sum += band[k] * loudness[k];
      return Math.log(sum + 1e-6);
    });
    for (let i = 0; i < FEATURES; i++) {
      let sum = 0;
      for (let n = 0; n < BANDS; n++) sum += logs[n] * Math.cos((Math.PI * i * (2 * n + 1)) / (2 * BANDS));
      found[frame * FEATURES + i] = sum * Math.sqrt(2 / BANDS);
    }
  }
  return found;
}

function spectrum(window) {
  const [real, imaginary] = [new Float64Array(SIZE), new Float64Array(SIZE)];
  window.forEach((x, i) => (real[i] = x * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / LENGTH))));
  transform(real, imaginary);
  return Float64Array.from({ length: SIZE / 2 + 1 }, (_, k) => Math.hypot(real[k], imaginary[k]));
}

// Fourier's transform, in place.
function transform(real, imaginary) {
  for (let i = 1, j = 0; i < SIZE; i++) {
    let bit = SIZE >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [real[i], real[j]] = [real[j], real[i]];
  }
  for (let length = 2; length <= SIZE; length *= 2)
    for (let start = 0; start < SIZE; start += length)
      for (let k = 0; k < length / 2; k++) {
        const angle = (-2 * Math.PI * k) / length;
        const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
        const [a, b] = [start + k, start + k + length / 2];
        const x = real[b] * cosine - imaginary[b] * sine;
        const y = real[b] * sine + imaginary[b] * cosine;
        [real[b], imaginary[b]] = [real[a] - x, imaginary[a] - y];
        real[a] += x;
        imaginary[a] += y;
      }
}

// The weight of each number of the spectrum in each band: triangles, from 20 to 4,000 Hz.
function bandWeights() {
  const mel = (hertz) => 1127 * Math.log1p(hertz / 700);
  const [low, high] = [mel(20), mel(4000)];
  const step = (high - low) / (BANDS + 1);
  return Array.from({ length: BANDS }, (_, band) =>
    Float64Array.from({ length: SIZE / 2 + 1 }, (_, k) => {
      if (k === 0) return 0; // the mean of the window
      const place = (mel((k * RATE) / SIZE) - low) / step - band;
      return Math.max(0, Math.min(place, 2 - place));
    }),
  );
}

// The model in a file that a linker made from model.c and tvm-qnn's files.
export async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const model = instance.exports;
  model._initialize?.();
  return model;
}

// The chances of WORDS in the first second of a wave file.
export function listen(model, file) {
  const [scale, point] = [model.input_scale(), model.input_zero_point()];
  const features = featuresOf(samplesOf(file));
  if (features.length !== model.input_size() || WORDS.length !== model.output_size())
    throw Error("another model than the keyword spotter of MLPerf Tiny");
  const input = new Int8Array(model.memory.buffer, model.input(), features.length);
  features.forEach((x, i) => (input[i] = Math.max(-128, Math.min(127, Math.round(x / scale) + point))));
  if (model.run()) throw Error("the model did not run");
  const scores = new Int8Array(model.memory.buffer, model.output(), WORDS.length);
  return Array.from(scores, (score) => (score + 128) / 256);
}
