/** Reads PNG files of a palette, strictly: what is not as the format says throws. */
import { crc32, inflateSync } from 'node:zlib';

export interface ReadPng {
  readonly width: number;
  readonly height: number;
  readonly palette: readonly (readonly number[])[];
  /** Indices of the palette, row by row. */
  readonly pixels: Uint8Array;
}

export function readPng(bytes: Uint8Array): ReadPng {
  const file = Buffer.from(bytes);
  if (file.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no signature');
  const chunks: [name: string, content: Buffer][] = [];
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const checked = file.subarray(at + 4, at + 8 + length);
    if (crc32(checked) !== file.readUInt32BE(at + 8 + length)) throw new Error('wrong check sum');
    chunks.push([checked.toString('latin1', 0, 4), checked.subarray(4)]);
    at += 12 + length;
  }
  const names = chunks.map(([name]) => name).join(' ');
  if (names !== 'IHDR PLTE IDAT IEND') throw new Error(`chunks ${names}`);
  const [header, colours, data] = chunks.map(([, content]) => content) as [Buffer, Buffer, Buffer];
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (header.subarray(8).toString('hex') !== '0803000000') throw new Error('not eight bits of a palette');
  const rows = inflateSync(data);
  if (rows.length !== height * (width + 1)) throw new Error(`${rows.length} bytes of rows`);
  const pixels = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    if (rows[y * (width + 1)] !== 0) throw new Error('a filter');
    pixels.set(rows.subarray(y * (width + 1) + 1, (y + 1) * (width + 1)), y * width);
  }
  const palette = Array.from({ length: colours.length / 3 }, (_, i) => [
    ...colours.subarray(3 * i, 3 * i + 3),
  ]);
  if (pixels.some((index) => index >= palette.length)) throw new Error('a colour that is none');
  return { width, height, palette, pixels };
}
