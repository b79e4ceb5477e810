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
  let [position, copiedEnd, length, fuelIndex] = [8, 0, 0, 0];
  const write = (bytes: ArrayLike<number>) => {
    output.set(bytes, length);
    length += bytes.length;
  };
  const copy = (to = position) => {
    write(wasm.subarray(copiedEnd, to));
    copiedEnd = to;
  };
  const readNumber = (): number => {
    let [value, shift, byte] = [0, 0, 128];
    for (; byte > 127; shift += 7) {
      byte = wasm[position++]!;
      value |= (byte & 127) << shift;
    }
    return value;
  };
  /** Reads a number and writes another in its place. */
  const rewriteNumber = (change: (value: number) => number): number => {
    copy();
    const value = readNumber();
    copiedEnd = position;
    write(encodeLeb128(change(value)));
    return value;
  };
  /** Reads a part that begins with its length, and writes it with its new length. */
  const rewriteSized = (change: (end: number) => void) => {
    const end = rewriteNumber((size) => size) + position;
    const start = length;
    change(end);
    position = end;
    copy();
    output.set(encodeLeb128(length - start), start - 5);
  };
  const sections: Readonly<Record<number, (end: number) => void>> = {
    6: (end) => {
      fuelIndex = rewriteNumber((globals) => globals + 2);
      copy(end);
      write([...counterGlobal, ...counterGlobal]);
    },
    7: (end) => {
      rewriteNumber((exported) => exported + 1);
      copy(end);
      write([fuelName.length, ...Buffer.from(fuelName), 3, ...encodeLeb128(fuelIndex)]);
    },
    10: () => {
      const [work, size] = [encodeLeb128(fuelIndex), encodeLeb128(fuelIndex + 1)];
      /** Subtracts an i32, and traps if the result is below 0. */
      const charge = [107, 36, ...work, 35, ...work, 65, 0, 72, 4, 64, 0, 11];
      const loopCharge = [35, ...work, 65, 1, ...charge];
      const bytesCharge = [36, ...size, 35, ...work, 35, ...size, 65, 6, 118, ...charge, 35, ...size];
      for (let count = readNumber(); count > 0; count--)
        rewriteSized((end) => meterCode(end, loopCharge, bytesCharge));
    },
  };
  while (position < wasm.length) rewriteSized(sections[wasm[position++]!] ?? (() => undefined));
  return output.slice(0, length);

  function meterCode(end: number, loopCharge: readonly number[], bytesCharge: readonly number[]): void {
    for (let locals = readNumber(); locals > 0; locals--) {
      readNumber();
      position++;
    }
    while (position < end) {
      const start = position;
      const opcode = wasm[position++]!;
      const operands = immediates[opcode]!;
      if (operands === 'b') for (let count = readNumber(); count >= 0; count--) readNumber();
      else if (operands === '4' || operands === '8') position += Number(operands);
      else if (operands !== 'p') for (let i = Number(operands); i > 0; i--) readNumber();
      const kind = operands === 'p' ? readNumber() : 0;
      if (kind === 10 || kind === 11) {
        copy(start);
        write(bytesCharge);
        position += 12 - kind;
      }
      if (operands === '?' || (kind > 7 && kind < 10) || kind > 11)
        throw new Error(`unknown instruction ${opcode}`);
      if (opcode !== 3) continue;
      copy();
      write(loopCharge);
    }
  }
}
