/**
 * Computes the second table of docs/results/reinforcement.md: the speed compared with TRL.
 * Run: npm run figures -- --page
 */
import type { SpeedRow } from '../../bench/reinforcement.js';
import { groupBy } from '../../src/base/grouped.js';
import { largest, mean, smallest } from '../../src/statistics/descriptive.js';
import { publish, readRows, tableOf } from './rows.js';

const names: Readonly<Record<string, string>> = {
  'qwen0.5.gguf': 'Qwen2.5-Coder-0.5B',
  'smollm2.gguf': 'SmolLM2-135M',
};

/** Ratios of a contender's speed to TRL's in the same turn: their mean and range. */
function ratios(own: readonly SpeedRow[], trl: readonly SpeedRow[], speed: (row: SpeedRow) => number) {
  const all = own.map((row) => speed(row) / speed(trl.find(({ turn }) => turn === row.turn)!));
  return `${mean(all).toFixed(2)} × (${smallest(all).toFixed(2)} to ${largest(all).toFixed(2)})`;
}

const memory = (rows: readonly SpeedRow[]) => `${largest(rows.map(({ peakGB }) => peakGB)).toFixed(1)} GB`;

const comparisons = groupBy(
  readRows<SpeedRow>('rl-speed'),
  ({ model, prompts, turns }) => `${model} ${prompts} ${turns}`,
);
const lines = [...comparisons.values()].flatMap((rows) => {
  const { TRL: trl = [], ...ours } = Object.fromEntries(groupBy(rows, ({ by }) => by));
  return Object.entries(ours).map(([by, own]) => [
    names[own[0]!.model]!,
    own[0]!.turns > 1 ? `${own[0]!.prompts}, games of ${own[0]!.turns} turns` : String(own[0]!.prompts),
    by.includes('int8') ? '`int8`' : '`float32`',
    ratios(own, trl, (row) => row.sampledTokens / row.samplingSeconds),
    ratios(own, trl, (row) => row.trainedTokens / row.updateSeconds),
    memory(own),
    memory(trl),
  ]);
});
const head = ['model', 'prompts', '`compute`', 'sampling ÷ TRL', 'update ÷ TRL', 'peak memory', 'TRL, PEFT'];
publish('docs/results/reinforcement.md', tableOf(head, lines), 'speed');
