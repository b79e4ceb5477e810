/**
 * Plays fresh games with models that `finetune rl` trained as agents, by the likeliest action or by sampling:
 *
 *     npx tsx scripts/agents/measure.ts CONFIG GAMES likeliest|sampled OUTPUT…
 *
 * One line of JSON a model: seed, games, mean return, its 95 % interval. Their starts are no starts of any training or evaluation.
 */
import process from 'node:process';
import { modelParameters, openLearning, planLearning } from '../../finetune/rl/assemble.js';
import type { SampledReply, Sampler } from '../../finetune/rl/learning/episode.js';
import { loadRlConfig } from '../../finetune/rl/rl-config.js';
import type { Conversation } from '../../src/agents/speaker.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import { readJson } from '../../src/storage/files.js';

/** The likeliest reply to equal prompts is the same. */
function remembering(sampler: Sampler): Sampler {
  const known = new Map<string, SampledReply>();
  const keyOf = ({ before, choices, message, system }: Conversation<SampledReply>) =>
    JSON.stringify([system, before.map((one) => [one.message, one.reply.text]), message, choices]);
  return {
    ...sampler,
    async reply(conversations) {
      const keys = conversations.map(keyOf);
      const asked = new Map(conversations.map((one, i) => [keys[i]!, one]));
      for (const key of known.keys()) asked.delete(key);
      const replies = await sampler.reply([...asked.values()]);
      for (const [i, key] of [...asked.keys()].entries()) known.set(key, replies[i]!);
      return keys.map((key) => known.get(key)!);
    },
  };
}

/** Below the seeds of games: learnings have 10 to 14. */
const stream = 99;

const [config, games, way, ...outputs] = process.argv.slice(2);
if (outputs.length === 0 || !['likeliest', 'sampled'].includes(way!))
  throw new Error('usage: measure.ts CONFIG GAMES likeliest|sampled OUTPUT…');
for (const output of outputs) {
  const { seed } = (readJson(`${output}/training.json`) as { config: { seed: number } }).config;
  const plan = planLearning(
    loadRlConfig(config!, [
      ...[`model=${output}/model`, 'method.kind=full', `output=${output}/measured`, 'threads=1'],
      ...[`seed=${seed}`, 'agent.maxTurns=100000'],
      // Colder than any difference of logits.
      ...(way === 'likeliest' ? ['agent.temperature=1e-5'] : []),
    ]),
  );
  const learning = await openLearning(plan);
  learning.sampler.refresh(modelParameters(plan.decoder, learning.trainable, learning.parameters));
  const starts = deriveSeeds(seed, [stream], Number(games));
  const sampler = way === 'likeliest' ? remembering(learning.sampler) : learning.sampler;
  const { values } = await learning.task.measure(sampler, starts, deriveSeeds(seed, [stream, 1], 1)[0]!);
  await learning.close();
  const margin = (1.96 * standardDeviation(values)) / Math.sqrt(values.length);
  const meanReturn = mean(values);
  const row = {
    seed,
    way,
    games: values.length,
    meanReturn,
    low: meanReturn - margin,
    high: meanReturn + margin,
  };
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
