/**
 * Describes for llama.cpp how to split and merge text: scores of SentencePiece tokens (Kudo and Richardson 2018; the
 * highest score is merged first), and names of the rules that split text before pairs are merged.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { preTokenizers } from '../../../src/models/local/tokens/tokenizer-settings.js';

/**
 * The scores of SentencePiece's tokens, from `tokenizer.model`. tokenizer.json ranks pairs of tokens instead, which
 * scores can't always express.
 */
export function sentencePieceScores(directory: string): ReadonlyMap<string, number> {
  const model = path.join(directory, 'tokenizer.model');
  if (existsSync(model)) return readPieces(model);
  throw new UserError({
    file: model,
    message: "is missing: llama.cpp needs the scores of SentencePiece's tokens",
    hint: "add the model's tokenizer.model to the directory",
  });
}

/** Reads `pieces` from SentencePiece's ModelProto: field 1, with the piece (1, string) and its score (2, float). */
function readPieces(file: string): Map<string, number> {
  const scores = new Map<string, number>();
  for (const field of protobufFields(readFileSync(file), file)) {
    if (field.number !== 1 || field.bytes === undefined) continue;
    let piece = '';
    let score = 0;
    for (const { number, bytes } of protobufFields(field.bytes, file)) {
      if (number === 1 && bytes !== undefined) piece = bytes.toString('utf8');
      if (number === 2 && bytes?.length === 4) score = bytes.readFloatLE();
    }
    scores.set(piece, score);
  }
  return scores;
}

/** Yields the fields of a protobuf message: their numbers, and the bytes of fixed-size or length-delimited fields. */
function* protobufFields(buffer: Buffer, file: string): Generator<{ number: number; bytes?: Buffer }> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = buffer[at++];
      if (byte === undefined) throw new UserError({ file, message: 'not a SentencePiece model' });
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const key = varint();
    const wire = key % 8;
    if (wire === 0) {
      varint();
      yield { number: Math.floor(key / 8) };
      continue;
    }
    const length = wire === 2 ? varint() : wire === 5 ? 4 : wire === 1 ? 8 : Number.NaN;
    if (!(at + length <= buffer.length)) throw new UserError({ file, message: 'not a SentencePiece model' });
    yield { number: Math.floor(key / 8), bytes: buffer.subarray(at, at + length) };
    at += length;
  }
}

const stepSchema = z.looseObject({
  type: z.string(),
  pattern: z.looseObject({ Regex: z.string().optional() }).optional(),
  add_prefix_space: z.boolean().optional(),
  use_regex: z.boolean().optional(),
  individual_digits: z.boolean().optional(),
});
const preTokenizerSchema = z.union([
  z.looseObject({ type: z.literal('Sequence'), pretokenizers: z.array(stepSchema) }),
  stepSchema,
]);

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const words = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const llama3 = String.raw`${contractions}|${words}|\p{N}{1,3}|${rest}`;
const qwen2 = String.raw`${contractions}|${words}|\p{N}|${rest}`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const tekken = String.raw`[^\r\n\p{L}\p{N}]?${upper}*${lower}+|[^\r\n\p{L}\p{N}]?${upper}+${lower}*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const splits = (name: string) => preTokenizers[name]!.splits.map((pattern) => `split ${pattern}`);

/**
 * Steps are `split <pattern>`, `digits`, or `gpt-2` (ByteLevel with GPT-2's own pattern). With `ignoreMerges`, a word
 * that is itself a token stays whole regardless of merges.
 */
const known = [
  { name: 'gpt-2', steps: ['gpt-2'], ignoreMerges: false, models: 'GPT-2' },
  { name: 'smollm', steps: ['digits', 'gpt-2'], ignoreMerges: false, models: 'SmolLM' },
  { name: 'llama-bpe', steps: [`split ${llama3}`], ignoreMerges: true, models: 'Llama 3' },
  { name: 'smaug-bpe', steps: [`split ${llama3}`], ignoreMerges: false, models: 'Llama 3 (older)' },
  { name: 'qwen2', steps: [`split ${qwen2}`], ignoreMerges: false, models: 'Qwen2, Qwen2.5, Qwen3' },
  { name: 'tekken', steps: [`split ${tekken}`], ignoreMerges: true, models: 'Mistral NeMo' },
  { name: 'gpt-4o', steps: splits('gpt-4o'), ignoreMerges: false, models: 'Phi-4-mini' },
];

/** llama.cpp's name for the splitting rules. @throws UserError if it has none that split text the same way */
export function preTokenizerName(preTokenizer: unknown, ignoreMerges: boolean, file: string): string {
  const steps = stepsOf(preTokenizer);
  const found = known.find(
    (one) =>
      steps !== undefined && one.ignoreMerges === ignoreMerges && one.steps.join('\n') === steps.join('\n'),
  );
  if (found !== undefined) return found.name;
  throw new UserError({
    file,
    field: 'pre_tokenizer',
    value: steps ?? preTokenizer,
    message: "none of llama.cpp's rules known to policyloop splits text like this tokenizer",
    alternatives: known.map(({ models }) => `like ${models}`),
    hint: "convert the model directory with llama.cpp's convert_hf_to_gguf.py; merge an adapter first (`policyloop finetune export --to merged`)",
  });
}

function stepsOf(preTokenizer: unknown): string[] | undefined {
  const parsed = preTokenizerSchema.safeParse(preTokenizer);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  const steps =
    'pretokenizers' in data ? z.array(stepSchema).parse(data.pretokenizers) : [stepSchema.parse(data)];
  return steps.flatMap((step) => {
    if (step.type === 'Split' && step.pattern?.Regex !== undefined) return [`split ${step.pattern.Regex}`];
    if (step.type === 'Digits' && step.individual_digits === true) return ['digits'];
    if (step.type === 'ByteLevel' && step.add_prefix_space !== true)
      return step.use_regex === false ? [] : ['gpt-2'];
    return [step.type];
  });
}
