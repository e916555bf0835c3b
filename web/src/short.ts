// Names of the browser's own that the page uses often. The build writes the short form wherever the long one stands
// (`Math.max` becomes a letter), so that nobody has to do it by hand: name_of, as `short` in build.mjs reads it.

export const {
  max: Math_max, min: Math_min, abs: Math_abs, floor: Math_floor, round: Math_round, sqrt: Math_sqrt, ceil: Math_ceil, hypot: Math_hypot,
} = Math;
export const {
  entries: Object_entries, fromEntries: Object_fromEntries, keys: Object_keys, values: Object_values, assign: Object_assign, hasOwn: Object_hasOwn,
} = Object;
export const { stringify: JSON_stringify, parse: JSON_parse } = JSON;
export const {
  Uint32Array: globalThis_Uint32Array, Uint8Array: globalThis_Uint8Array, Uint16Array: globalThis_Uint16Array,
  Float32Array: globalThis_Float32Array, Float64Array: globalThis_Float64Array, String: globalThis_String, Number: globalThis_Number,
  Array: globalThis_Array, Error: globalThis_Error, Promise: globalThis_Promise, URL: globalThis_URL, Blob: globalThis_Blob, Map: globalThis_Map, Set: globalThis_Set,
  document: globalThis_document, location: globalThis_location, performance: globalThis_performance,
  setTimeout: globalThis_setTimeout, clearTimeout: globalThis_clearTimeout, requestAnimationFrame: globalThis_requestAnimationFrame,
  isNaN: globalThis_isNaN, cancelAnimationFrame: globalThis_cancelAnimationFrame, AbortController: globalThis_AbortController, ResizeObserver: globalThis_ResizeObserver,
} = globalThis;
