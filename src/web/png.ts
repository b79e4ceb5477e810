import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Encodes a PNG with up to 256 colours (PNG specification 3rd ed., colour type 3).
 * @param pixels palette indices, row by row
 * @param palette red, green, blue and, optionally, opacity, each 0 … 255
 */
export function png(
  pixels: Uint8Array,
  palette: readonly (readonly number[])[],
  { height, width }: { readonly width: number; readonly height: number },
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  // Each row starts with its filter type, 0 (none): filters rarely help with indexed colours.
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const opacities = palette.flatMap(([, , , opacity]) => opacity ?? []);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => colour.slice(0, 3)))),
    ...(opacities.length > 0 ? [chunk('tRNS', Buffer.from(opacities))] : []),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, content: Buffer): Buffer {
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  const checked = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(checked));
  return Buffer.concat([length, checked, check]);
}
