/** How text is cut up before pairs are merged: llama.cpp knows such rules by name, tokenizer.json spells them out. */
import { z } from 'zod';
import { UserError } from '../src/errors.js';

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

interface Known {
  /** llama.cpp's name, for `tokenizer.ggml.pre`. */
  readonly name: string;
  readonly steps: readonly string[];
  /** Whether a word that is a token stays whole, whatever the merges say: fixed by the name in llama.cpp. */
  readonly ignoreMerges: boolean;
  readonly models: string;
}

/** `split <pattern>`, `digits`, `gpt-2` (a ByteLevel that splits by GPT-2's own pattern), in their order. */
const known: readonly Known[] = [
  { name: 'gpt-2', steps: ['gpt-2'], ignoreMerges: false, models: 'GPT-2' },
  { name: 'smollm', steps: ['digits', 'gpt-2'], ignoreMerges: false, models: 'SmolLM' },
  { name: 'llama-bpe', steps: [`split ${llama3}`], ignoreMerges: true, models: 'Llama 3' },
  { name: 'smaug-bpe', steps: [`split ${llama3}`], ignoreMerges: false, models: 'Llama 3 (older)' },
  { name: 'qwen2', steps: [`split ${qwen2}`], ignoreMerges: false, models: 'Qwen2, Qwen2.5, Qwen3' },
  { name: 'tekken', steps: [`split ${tekken}`], ignoreMerges: true, models: 'Mistral NeMo' },
];

/**
 * @param preTokenizer of tokenizer.json
 * @throws UserError when llama.cpp has no name for these rules, or none is known here: another one would cut numbers and
 * words otherwise than the model learnt them
 */
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
    message: 'it is not known which of llama.cpp’s rules cuts text up like this tokenizer',
    alternatives: known.map(({ models }) => `as ${models}`),
    remedy:
      'merge the adapter (policyloop finetune merge) and convert the result with llama.cpp’s own script',
  });
}

function stepsOf(preTokenizer: unknown): string[] | undefined {
  const parsed = preTokenizerSchema.safeParse(preTokenizer);
  if (!parsed.success) return undefined;
  const data = parsed.data;
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
