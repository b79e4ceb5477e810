/** The package declares types only for its main module. */
declare module 'crc-32/crc32c.js' {
  const crc32c: {
    /** CRC-32C (Castagnoli) as a signed 32-bit number. */
    buf(data: Uint8Array): number;
  };
  export default crc32c;
}
