/**
 * CPU time per token of constrained decoding, relative to free text, for the models given as arguments. Free and
 * constrained answers alternate, so that other load on the machine affects both.
 */
import type { TextForm } from '../src/models/language-model.js';
import { loadEngine } from '../src/models/local/generation/engine.js';
import { median } from '../src/statistics/descriptive.js';

const object = (properties: Record<string, object>): TextForm => ({
  kind: 'json',
  schema: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
});
const text = { type: 'string' };
const forms: Readonly<Record<string, TextForm>> = {
  'free strings': object({ story: { type: 'array', items: text, minItems: 30 } }),
  'strings of at most 400 characters': object({
    a: { ...text, minLength: 300, maxLength: 400 },
    b: { ...text, minLength: 300, maxLength: 400 },
  }),
  'numbers within bounds': object({
    values: { type: 'array', items: { type: 'number', minimum: -6, maximum: 6 }, minItems: 60, maxItems: 60 },
  }),
  records: object({
    people: {
      type: 'array',
      minItems: 10,
      items: {
        type: 'object',
        properties: {
          name: text,
          age: { type: 'integer', minimum: 0, maximum: 120 },
          email: { ...text, format: 'email' },
          kind: { enum: ['friend', 'foe'] },
        },
        required: ['name', 'age', 'email', 'kind'],
      },
    },
  }),
  'any JSON': { kind: 'json', schema: { type: 'object' } },
};

const [maxTokens, rounds] = [64, 3];

for (const path of process.argv.slice(2)) {
  const { close, generate } = await loadEngine({
    path,
    device: 'cpu',
    quantization: 'none',
    threads: 1,
    batch: 1,
    template: {},
    ignoreKeys: [],
  });
  const messages = [{ role: 'user' as const, content: 'Write a long story about ten people, as JSON.' }];
  /** Microseconds of CPU time per token, on one thread. */
  const timed = async (seed: number, form?: TextForm) => {
    const job = { messages, seeds: [seed], maxTokens, sampling: {}, stop: [], logProbabilities: false };
    const start = process.cpuUsage();
    const { answers } = await generate(form ? { ...job, form } : job, { aborted: () => false });
    const { system, user } = process.cpuUsage(start);
    return (system + user) / answers[0]!.ids.length;
  };
  await timed(0);
  for (const [name, form] of Object.entries(forms)) {
    const firsts: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const [before, constrained, after] = [await timed(round), await timed(round, form), await timed(round)];
      (round === 0 ? firsts : ratios).push((2 * constrained) / (before + after));
    }
    process.stdout.write(
      `${path}  ${name}: ${median(ratios).toFixed(2)} (first answer ${firsts[0]!.toFixed(2)})\n`,
    );
  }
  await close();
}
