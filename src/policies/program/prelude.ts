/**
 * The code that runs inside the interpreter around a program. It reads observations from a buffer that it shares with
 * the host, and writes actions into it, so that a step is a single call (more if the observation is text).
 */
import { dimensionsOf, type EnvironmentSpec, type Space } from '../../environments/environment.js';

/** Kinds of actions; `take` writes the kind to the buffer's last element. */
export const actionKinds = { number: 1, vector: 2, text: 3, other: 4 } as const;

/** Returns the length of the buffer, whose last number is the kind of action or the length of a part of a text. */
export const bufferLength = ({ observationSpace, actionSpace }: EnvironmentSpec): number =>
  1 +
  Math.max(observationSpace.kind === 'text' ? chunkLength : 2, width(observationSpace), width(actionSpace));

/** The buffer holds at least this many characters of a text observation; longer ones are passed in several parts. */
const chunkLength = 1024;

/** Longest text action, in characters. */
const maxTextLength = 10_000;

/** At the start, the buffer holds `bufferMark`, `bufferMark - 1`, …, so that the host can find it in the memory. */
export const bufferMark = -Math.PI;

const width = (space: Space): number => (space.kind === 'text' ? 0 : dimensionsOf(space));

const isVector = ({ kind }: Space) => kind === 'box' || kind === 'tuple';

/** Maximum length of a vector that is copied without a loop. */
const maxUnrolledLength = 64;

/** Returns a JavaScript expression that reads a new observation from the buffer. */
function observationCode(space: Space, names: ComponentNames): string {
  if (space.kind === 'text') return 'whole()';
  if (!isVector(space)) return 'floats[0]';
  const indexes = Array.from({ length: width(space) }, (_, i) => i);
  const array =
    indexes.length <= maxUnrolledLength ? `[${indexes.map((i) => `floats[${i}]`).join(', ')}]` : 'vector()';
  return names.some((name) => name !== undefined) ? `named(${array})` : array;
}

type ComponentNames = readonly (string | undefined)[];

/**
 * Writes an expression whose value contains functions for the host. Programs can reach neither these nor the buffer.
 * @param names names of the components of an observation
 */
export function preludeSource(environment: EnvironmentSpec, names: ComponentNames): string {
  const { actionSpace, observationSpace } = environment;
  const [length, observationWidth] = [bufferLength(environment), width(observationSpace)];
  const assignments = names.map((name, i) => (name === undefined ? '' : `array.${name} = array[${i}];`));
  return `(() => {
'use strict';
const floats = new Float64Array(${length});
${hardeningCode}
let program, act, memory, constants, text = '';
const whole = () => { const all = text; text = ''; return all; };
const vector = () => {
  const array = [];
  for (let i = 0; i < ${observationWidth}; i++) array[i] = floats[i];
  return array;
};
const named = (array) => { ${assignments.join(' ')} return array; };
const take = (action) => {
  if (typeof action === 'number') {
    floats[0] = action;
    floats[${length - 1}] = ${actionKinds.number};
    return;
  }
  ${actionSpace.kind === 'text' ? `if (typeof action === 'string' && action.length <= ${maxTextLength}) { floats[${length - 1}] = ${actionKinds.text}; return stringify(action); }` : ''}
  if ((isArray(action) || isView(action)) && action.length === ${isVector(actionSpace) ? width(actionSpace) : -1}) {
    let i = 0;
    for (; i < ${width(actionSpace)}; i++) {
      const number = action[i];
      if (typeof number !== 'number') break;
      floats[i] = number;
    }
    if (i === ${width(actionSpace)}) {
      floats[${length - 1}] = ${actionKinds.vector};
      return;
    }
  }
  floats[${length - 1}] = ${actionKinds.other};
  return shown(action);
};
const brief = (value) => {
  switch (typeof value) {
    case 'function': return 'a function';
    case 'symbol': return 'a symbol';
    case 'bigint': return 'a bigint';
    case 'string': return stringify(value.length > 60 ? value.slice(0, 60) + '…' : value);
    case 'object': return value === null ? 'null' : isArray(value) ? '[…]' : '{…}';
    default: return value + '';
  }
};
const shown = (value) => {
  if (typeof value !== 'object' || value === null) return brief(value);
  try {
    if (isArray(value)) {
      const items = value.length > 8 ? ['… (' + value.length + ' items)'] : [];
      for (let i = min(value.length, 8) - 1; i >= 0; i--) items.unshift(brief(value[i]));
      return '[' + items.join(', ') + ']';
    }
    const names = keys(value), parts = [];
    for (let i = 0; i < names.length && i < 4; i++) parts.push(names[i].slice(0, 30) + ': ' + brief(value[names[i]]));
    return '{' + parts.join(', ') + (names.length > 4 ? ', …' : '') + '}';
  } catch {
    return 'an unreadable object';
  }
};
for (let i = 0; i < ${length}; i++) floats[i] = ${bufferMark} - i;
return {
  load: (made) => { program = made; },
  start() {
    seed(floats[0], floats[1]);
    const made = program();
    if (typeof made[0] !== 'function') return 0;
    act = made[0];
    memory = {};
    constants = {};
    if (typeof made[1] === 'object' && made[1] !== null) {
      for (const key of keys(made[1])) {
        const item = made[1][key];
        constants[key] = typeof item === 'object' && item !== null && typeof item.value === 'number' ? item.value : item;
      }
    }
    freeze(constants);
    return 1;
  },
  append() { text += fromCharCode(...floats.subarray(0, floats[${length - 1}])); },
  step: () => take(act(${observationCode(observationSpace, names)}, memory, constants)),
  describe(error) {
    try {
      if (!(error instanceof Failure)) return stringify(['', 'threw ' + shown(error), '']);
      return stringify([(error.name + '').slice(0, 100), (error.message + '').slice(0, 300), (error.stack + '').slice(0, 3000)]);
    } catch {
      // Fails if there is no memory left.
      return stringify(['', 'threw an unreadable error', '']);
    }
  },
};
})()`;
}

/** Defines `random()` and `seed(low, high)`, whose arguments are the 32-bit halves of the seed. */
const seededRandomCode = `
// sfc32 by Chris Doty-Humphrey (PractRand).
let a = 0, b = 0, c = 0, d = 1;
const next = () => {
  const sum = (a + b | 0) + d | 0;
  d = d + 1 | 0;
  a = b ^ b >>> 9;
  b = c + (c << 3) | 0;
  c = (c << 21 | c >>> 11) + sum | 0;
  return sum >>> 0;
};
const seed = (low, high) => {
  a = low | 0; b = high | 0; c = 0; d = 1;
  for (let i = 0; i < 15; i++) next();
};
const random = () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;`;

/**
 * Removes features that run text as code or differ between machines, replaces `Math.random` and freezes built-ins. The
 * properties of frozen prototypes become accessors, so that objects can still be assigned a property of the same name.
 */
const hardeningCode = `
const { isArray } = Array, { min } = Math, { fromCharCode } = String, { isView } = ArrayBuffer, { stringify } = JSON, { keys, freeze } = Object, Failure = Error;
const NoCode = function Function() { throw new TypeError('code from text is not available'); };
NoCode.prototype = Function.prototype;
for (const made of [() => 0, function* () {}])
  Object.defineProperty(Object.getPrototypeOf(made), 'constructor', { value: NoCode });
globalThis.Function = NoCode;
for (const name of ['eval', 'BigInt', 'BigInt64Array', 'BigUint64Array', 'SharedArrayBuffer', 'Atomics', 'InternalError'])
  delete globalThis[name];

for (const [{ prototype }, name] of [[String, 'localeCompare'], [Number, 'toLocaleString'], [Array, 'toLocaleString'], [Object.getPrototypeOf(Int8Array), 'toLocaleString']])
  prototype[name] = () => { throw new TypeError(name + ' is not available, because it depends on the locale'); };

${seededRandomCode}
Math.random = random;

const { defineProperty } = Object;
const pending = [
  globalThis, function* () {}, async () => 0, async function* () {}, (function* () {})(),
  [][Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](), ''[Symbol.iterator](),
  'a'.matchAll(/a/g), Iterator.from({ next() {} }), [].values().map((x) => x),
];
const overridable = (prototype, key, { value, enumerable }) => ({
  get: () => value,
  set(given) {
    if (this === prototype) throw new TypeError("'" + String(key) + "' of a built-in prototype is read-only");
    defineProperty(this, key, { value: given, writable: true, enumerable: true, configurable: true });
  },
  enumerable,
});
const seen = new Set();
while (pending.length > 0) {
  const value = pending.pop();
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
  seen.add(value);
  pending.push(Object.getPrototypeOf(value));
  const isPrototype = Object.hasOwn(value, 'constructor');
  for (const key of Reflect.ownKeys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    pending.push(property.value, property.get, property.set);
    if (property.writable && property.configurable && isPrototype)
      defineProperty(value, key, overridable(value, key, property));
  }
  freeze(value);
}
`;
