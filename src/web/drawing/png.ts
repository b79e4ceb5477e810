/** Small pictures as PNG, written without compression, so that pages and files contain the same ones. */

type Numbers = readonly number[];

const bytesOf = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);

function chunk([type, data]: readonly [string, Numbers]): Numbers {
  const body = [...Array.from(type, (letter) => letter.charCodeAt(0)), ...data];
  let crc = -1;
  for (const byte of body) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return [...bytesOf(data.length), ...body, ...bytesOf(~crc)];
}

/**
 * The address of a picture (`data:`).
 * @param colors up to 256 colours: red, green, blue and opacity, from 0 to 255
 * @param rows index of each pixel's colour; a row has at most 65,534 pixels
 */
export function pngAddress(colors: Numbers[], rows: Numbers[]): string {
  const size = [rows[0]!.length, rows.length].flatMap(bytesOf);
  const length = rows[0]!.length + 1;
  let [a, b] = [1, 0];
  // Each row is a block of its own; its first byte says that it isn't filtered.
  const blocks = rows.flatMap((row, i) => {
    for (const byte of [0, ...row]) [a, b] = [(a + byte) % 65_521, (b + a + byte) % 65_521];
    const isLast = Number(i === rows.length - 1);
    return [isLast, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255, 0, ...row];
  });
  const chunks = {
    IHDR: [...size, 8, 3, 0, 0, 0],
    PLTE: colors.flatMap((color) => color.slice(0, 3)),
    tRNS: colors.map((color) => color[3]!),
    IDAT: [0x78, 1, ...blocks, ...bytesOf(b * 65_536 + a)],
    IEND: [],
  };
  const bytes = [137, 80, 78, 71, 13, 10, 26, 10, ...Object.entries(chunks).flatMap(chunk)];
  return `data:image/png;base64,${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}
