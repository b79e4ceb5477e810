/** Small GGUF files for tests: any metadata, tensors of any type, and whatever damage a test wants. */
import { writeFileSync } from 'node:fs';
import { ggufValue } from '../../../../finetune/export/gguf/format.js';
import { blockType } from '../../../../src/models/local/weights/gguf-blocks.js';

export interface TestTensor {
  readonly name: string;
  /** Rows first. */
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly bytes: Uint8Array;
}

const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number | bigint) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
export const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const padding = (length: number) => Buffer.alloc((32 - (length % 32)) % 32);

/** The bytes of a file. */
export function ggufBytes(
  metadata: Readonly<Record<string, Buffer>>,
  tensors: readonly TestTensor[],
  head: {
    readonly version?: number;
    readonly tensors?: number | bigint;
    readonly pairs?: number | bigint;
  } = {},
): Buffer {
  const pairs = Object.entries(metadata).flatMap(([key, value]) => [text(key), value]);
  let offset = 0;
  const infos = tensors.flatMap(({ name, shape, dtype, bytes }) => {
    const at = offset;
    offset += bytes.length + padding(bytes.length).length;
    const type = blockType(dtype)?.number ?? Number(dtype);
    return [text(name), u32(shape.length), ...[...shape].reverse().map(u64), u32(type), u64(at)];
  });
  const start = Buffer.concat([
    Buffer.from('GGUF'),
    u32(head.version ?? 3),
    u64(head.tensors ?? tensors.length),
    u64(head.pairs ?? Object.keys(metadata).length),
    ...pairs,
    ...infos,
  ]);
  const data = tensors.flatMap(({ bytes }) => [bytes, padding(bytes.length)]);
  return Buffer.concat([start, padding(start.length), ...data]);
}

export function writeTestGguf(file: string, ...given: Parameters<typeof ggufBytes>): string {
  writeFileSync(file, ggufBytes(...given));
  return file;
}

/** A byte-level tokenizer of the 256 bytes and two control tokens, with a template that ends in `<|im_start|>`. */
export function tokenizerMetadata(): Record<string, Buffer> {
  const bytes = [...byteAlphabet()];
  const tokens = [...bytes, '<|im_start|>', '<|im_end|>'];
  return {
    'tokenizer.ggml.model': ggufValue.string('gpt2'),
    'tokenizer.ggml.pre': ggufValue.string('qwen2'),
    'tokenizer.ggml.tokens': ggufValue.strings(tokens),
    'tokenizer.ggml.token_type': ggufValue.int32s(tokens.map((_, id) => (id < 256 ? 1 : 3))),
    'tokenizer.ggml.merges': ggufValue.strings(['h e']),
    'tokenizer.ggml.eos_token_id': ggufValue.uint32(257),
    'tokenizer.chat_template': ggufValue.string(
      '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}<|im_start|>',
    ),
  };
}

/** GPT-2's characters for the bytes 0 to 255, `he` in the place of one that text hardly has. */
function* byteAlphabet(): Generator<string> {
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    yield byte === 0xff ? 'he' : String.fromCodePoint(printable ? byte : next++);
  }
}
