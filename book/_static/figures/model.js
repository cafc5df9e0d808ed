/* The course's model: read its parameters from an npz file, and translate a sentence word by word. */
import { add, dot, mix, softmax, tanh, times } from "./arithmetic.js";

/* The arrays of an npz file, which is a zip of npy files: {name: {shape, data}}. */
export async function readNpz(buffer) {
  const view = new DataView(buffer), arrays = {};
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("this is no npz file");
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left; left--) {
    const [method, size, name, extra, comment, start] = [[10, 16], [20, 32], [28, 16], [30, 16], [32, 16], [42, 32]].map(([k, bits]) => view[`getUint${bits}`](at + k, true));
    const text = new TextDecoder().decode(new Uint8Array(buffer, at + 46, name)).replace(/\.npy$/, "");
    const from = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
    const packed = new Blob([buffer.slice(from, from + size)]);
    arrays[text] = readNpy(await (method ? new Response(packed.stream().pipeThrough(new DecompressionStream("deflate-raw"))) : packed).arrayBuffer());
    at += 46 + name + extra + comment;
  }
  return arrays;
}

function readNpy(buffer) {
  const length = new DataView(buffer).getUint16(8, true), header = new TextDecoder().decode(new Uint8Array(buffer, 10, length));
  const Kind = { "<f4": Float32Array, "<f8": Float64Array, "|i1": Int8Array }[/'descr': '(...)'/.exec(header)?.[1]];
  if (!Kind || /'fortran_order': True/.test(header)) throw new Error("an array is not of plain floating point numbers");
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((n) => n.trim()).map(Number);
  return { shape, data: new Kind(buffer.slice(10 + length)) };
}

/* Dequantise an array of int8, which has one scale per row. */
function scaled({ shape, data }, scale) {
  if (!(data instanceof Int8Array)) return { shape, data };
  if (!scale) throw new Error("an array is not of plain floating point numbers");
  const size = data.length / shape[0];
  return { shape, data: Float32Array.from(data, (x, k) => x * scale.data[Math.floor(k / size)]) };
}

/* Reject an array that is missing, has the wrong shape or is not finite; return matrices as lists of rows. */
export function checked(arrays, shapes) {
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
    const stored = arrays[name];
    if (!stored) throw new Error(`the array ${name} is missing`);
    const array = scaled(stored, arrays[`${name}.scale`]);
    if (String(array.shape) !== String(shape)) throw new Error(`${name} has shape (${array.shape.join(", ")}); (${shape.join(", ")}) is right`);
    if (!array.data.every(Number.isFinite)) throw new Error(`${name} holds numbers that are not finite`);
    const [rows, columns] = shape;
    return [name, columns ? [...Array(rows).keys()].map((k) => array.data.subarray(k * columns, (k + 1) * columns)) : array.data];
  }));
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

function gru(p, at, end, x, h) {
  const [i, r] = [["ih", x], ["hh", h]].map(([k, v]) => add(times(p[`${at}weight_${k}${end}`], v), p[`${at}bias_${k}${end}`]));
  return h.map((old, k, { length: n }) => {
    const update = sigmoid(i[k + n] + r[k + n]);
    return (1 - update) * Math.tanh(i[k + 2 * n] + sigmoid(i[k] + r[k]) * r[k + 2 * n]) + update * old;
  });
}

/* The annotations, each with its projection, and the first state. */
export function read(p, source) {
  const W = p["encoder.W_init.weight"], words = source.map((word) => [...p["encoder.embedding.weight"][word]]);
  const states = (list, end) => list.reduce((all, x) => [...all, gru(p, "encoder.rnn.", end, x, all.at(-1) ?? [...W[0]].fill(0))], []);
  const forward = states(words, "_l0"), backward = states(words.toReversed(), "_l0_reverse").toReversed();
  const keys = forward.map((h, j) => [...h, ...backward[j]]);
  return [keys.map((h) => [h, times(p["decoder.attention.score.W_key.weight"], h)]), tanh(times(W, backward[0]))];
}

/* The likeliest word at every step, until the stop word or `longest` steps: [{word, weights, probability}]. `look` may change what a step sees. */
export function translate(p, [keys, state], { start, stop, longest }, look = (keys) => [keys]) {
  let word = start, steps = [];
  while (word !== stop && steps.length < longest) {
    const [seen, mask] = look(keys, steps.length), asks = times(p["decoder.attention.score.W_query.weight"], state);
    const weights = softmax(seen.map(([, key]) => dot(tanh(add(asks, key)), p["decoder.attention.score.v.weight"][0])), mask);
    const context = mix(weights, seen.map(([h]) => h)), embedded = [...p["decoder.embedding.weight"][word]];
    state = gru(p, "decoder.cell.", "", [...embedded, ...context], state);
    const chances = softmax(add(times(p["decoder.output.weight"], [...state, ...embedded, ...context]), p["decoder.output.bias"]));
    word = chances.indexOf(Math.max(...chances));
    steps.push({ word, weights, probability: chances[word] });
  }
  return steps;
}
