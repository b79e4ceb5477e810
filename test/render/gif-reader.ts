/** Just enough of a GIF reader to check what was written (GIF89a specification, LZW with variable code lengths). */

interface GifFrame {
  /** Hundredths of a second. */
  readonly delay: number;
  /** The picture after this frame, as palette indices. */
  readonly pixels: Uint8Array;
}

export interface ReadGif {
  readonly width: number;
  readonly height: number;
  readonly palette: readonly (readonly [number, number, number])[];
  readonly loops: boolean;
  readonly frames: readonly GifFrame[];
}

export function readGif(bytes: Uint8Array): ReadGif {
  const data = Buffer.from(bytes);
  if (data.toString('latin1', 0, 6) !== 'GIF89a') throw new Error('not a GIF89a');
  const [width, height] = [data.readUInt16LE(6), data.readUInt16LE(8)];
  const colours = 2 << (data[10]! & 7);
  const palette = Array.from({ length: colours }, (_, i): [number, number, number] => {
    const at = 13 + 3 * i;
    return [data[at]!, data[at + 1]!, data[at + 2]!];
  });
  let at = 13 + 3 * colours;
  const blocks = (): Buffer => {
    const parts: Buffer[] = [];
    while (data[at] !== 0) {
      parts.push(data.subarray(at + 1, at + 1 + data[at]!));
      at += 1 + data[at]!;
    }
    at++;
    return Buffer.concat(parts);
  };
  const canvas = new Uint8Array(width * height);
  const frames: GifFrame[] = [];
  let loops = false;
  let [delay, transparent] = [0, -1];
  for (;;) {
    const kind = data[at++];
    if (kind === 0x3b) break;
    if (kind === 0x21) {
      const label = data[at++];
      const content = blocks();
      if (label === 0xf9)
        [delay, transparent] = [content.readUInt16LE(1), content[0]! & 1 ? content[3]! : -1];
      if (label === 0xff && content.toString('latin1', 0, 11) === 'NETSCAPE2.0') loops = true;
    } else if (kind === 0x2c) {
      at += 9;
      const bits = data[at++]!;
      const indices = decodeLzw(blocks(), bits, width * height);
      for (const [i, index] of indices.entries()) if (index !== transparent) canvas[i] = index;
      frames.push({ delay, pixels: canvas.slice() });
    } else throw new Error(`no GIF block at ${at - 1}`);
  }
  if (at !== data.length) throw new Error('something follows the end');
  return { width, height, palette, loops, frames };
}

function decodeLzw(data: Buffer, bits: number, pixels: number): Uint8Array {
  const clear = 1 << bits;
  const out = new Uint8Array(pixels);
  let written = 0;
  let table: number[][] = [];
  let size = bits + 1;
  let previous: number[] | undefined;
  const reset = () => {
    table = Array.from({ length: clear + 2 }, (_, i) => (i < clear ? [i] : []));
    size = bits + 1;
    previous = undefined;
  };
  reset();
  for (let bit = 0; ; ) {
    let code = 0;
    for (let i = 0; i < size; i++, bit++) code |= ((data[bit >> 3]! >> (bit & 7)) & 1) << i;
    if (code === clear) {
      reset();
      continue;
    }
    if (code === clear + 1) break;
    const entry: number[] = table[code] ?? [...previous!, previous![0]!];
    if (previous !== undefined && table.length < 4096) table.push([...previous, entry[0]!]);
    if (table.length === 1 << size && size < 12) size++;
    out.set(entry, written);
    written += entry.length;
    previous = entry;
  }
  if (written !== pixels) throw new Error(`${written} of ${pixels} pixels`);
  return out;
}
