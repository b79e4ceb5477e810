/** Makes WebAssembly code count its work, so that the work limit is the same on every machine. */

/** Name of the exported global that holds the remaining work; the code traps if it falls below 0. */
export const fuelName = 'fuel';

/** Initial and largest value of the global `fuel`. */
export const maxFuel = 2 ** 31 - 1;

/**
 * Operands of each opcode: 0, 1 or 2 LEB128 numbers, 4 or 8 bytes, the targets of a branch (b), or another opcode (p).
 * Opcodes marked ? don't occur.
 */
const immediates = `001110?????011b012${'?'.repeat(8)}00????11111???${'2'.repeat(23)}111148${'0'.repeat(128)}${'?'.repeat(55)}p???`;

/** Encodes an unsigned number in LEB128, padded to five bytes. */
const encodeLeb128 = (value: number): readonly number[] =>
  [0, 7, 14, 21, 28].map((shift) => ((value >>> shift) & 127) | (shift < 28 ? 128 : 0));

/** Encoded declaration of a mutable i32 global that starts at the largest value. */
const counterGlobal = [127, 1, 65, 255, 255, 255, 255, 7, 11];

/**
 * Adds the counter to a module without imported globals. Each iteration of a loop costs 1, as does every 64 bytes that
 * an instruction copies or fills. Calls are free: without loops, the stack limits them.
 * @throws Error for an unknown instruction
 */
export function addMeter(wasm: Uint8Array): Uint8Array<ArrayBuffer> {
  const output = new Uint8Array(2 * wasm.length);
  let [at, copied, length, fuel] = [8, 0, 0, 0];
  const write = (bytes: ArrayLike<number>) => {
    output.set(bytes, length);
    length += bytes.length;
  };
  const copy = (to = at) => {
    write(wasm.subarray(copied, to));
    copied = to;
  };
  const read = (): number => {
    let [value, shift, byte] = [0, 0, 128];
    for (; byte > 127; shift += 7) {
      byte = wasm[at++]!;
      value |= (byte & 127) << shift;
    }
    return value;
  };
  /** Reads a number and writes another in its place. */
  const rewriteNumber = (other: (value: number) => number): number => {
    copy();
    const value = read();
    copied = at;
    write(encodeLeb128(other(value)));
    return value;
  };
  /** Reads a part that begins with its length, and writes it with its new length. */
  const rewriteSized = (change: (end: number) => void) => {
    const end = rewriteNumber((size) => size) + at;
    const start = length;
    change(end);
    at = end;
    copy();
    output.set(encodeLeb128(length - start), start - 5);
  };
  const sections: Readonly<Record<number, (end: number) => void>> = {
    6: (end) => {
      fuel = rewriteNumber((globals) => globals + 2);
      copy(end);
      write([...counterGlobal, ...counterGlobal]);
    },
    7: (end) => {
      rewriteNumber((exported) => exported + 1);
      copy(end);
      write([fuelName.length, ...Buffer.from(fuelName), 3, ...encodeLeb128(fuel)]);
    },
    10: () => {
      const [own, size] = [encodeLeb128(fuel), encodeLeb128(fuel + 1)];
      /** Subtracts an i32, and traps if the result is below 0. */
      const charge = [107, 36, ...own, 35, ...own, 65, 0, 72, 4, 64, 0, 11];
      const loopCharge = [35, ...own, 65, 1, ...charge];
      const bytesCharge = [36, ...size, 35, ...own, 35, ...size, 65, 6, 118, ...charge, 35, ...size];
      for (let count = read(); count > 0; count--)
        rewriteSized((end) => meterCode(end, loopCharge, bytesCharge));
    },
  };
  while (at < wasm.length) rewriteSized(sections[wasm[at++]!] ?? (() => undefined));
  return output.slice(0, length);

  function meterCode(end: number, loopCharge: readonly number[], bytesCharge: readonly number[]): void {
    for (let locals = read(); locals > 0; locals--) {
      read();
      at++;
    }
    while (at < end) {
      const start = at;
      const code = wasm[at++]!;
      const next = immediates[code]!;
      if (next === 'b') for (let count = read(); count >= 0; count--) read();
      else if (next === '4' || next === '8') at += Number(next);
      else if (next !== 'p') for (let i = Number(next); i > 0; i--) read();
      const kind = next === 'p' ? read() : 0;
      if (kind === 10 || kind === 11) {
        copy(start);
        write(bytesCharge);
        at += 12 - kind;
      }
      if (next === '?' || (kind > 7 && kind < 10) || kind > 11)
        throw new Error(`unknown instruction ${code}`);
      if (code !== 3) continue;
      copy();
      write(loopCharge);
    }
  }
}
