import { mean } from './descriptive.js';

const roundCount = (count: number) => Math.ceil(Math.log2(count));

/** The largest number of competitors, up to `limit`, that can each play two episodes per round within the budget. */
export const maxCompetitors = (budget: number, limit: number): number => {
  let count = limit;
  while (count > 1 && 2 * count * roundCount(count) > budget) count--;
  return count;
};

/**
 * Sequential halving (Z. Karnin et al., “Almost Optimal Exploration in Multi-Armed Bandits”, ICML 2013), but a
 * competitor is judged by all its returns so far. Each round has an equal share of the budget; the better half stays.
 * @param play plays further episodes, the same for all competitors in a round; returns undefined for one that drops out
 * @param onFinished receives a competitor that has played its last episode
 * @returns the competitors that haven't dropped out, best first
 */
export async function sequentialHalving<T>(
  competitors: readonly T[],
  budget: number,
  play: (competitor: T, first: number, count: number) => Promise<readonly number[] | undefined>,
  onFinished: (competitor: T, returns: readonly number[]) => void = () => undefined,
): Promise<readonly T[]> {
  const rounds = roundCount(competitors.length);
  let remaining = competitors.map((one) => ({ one, returns: [] as readonly number[] }));
  let ranked: readonly T[] = [];
  for (let round = 0, first = 0; round < rounds && remaining.length > 1; round++) {
    const count = Math.floor(budget / rounds / remaining.length);
    const played: typeof remaining = [];
    for (const { one, returns } of remaining) {
      const newReturns = await play(one, first, count);
      if (newReturns !== undefined) played.push({ one, returns: [...returns, ...newReturns] });
    }
    first += count;
    played.sort((a, b) => mean(b.returns) - mean(a.returns));
    remaining = played.splice(0, Math.ceil(remaining.length / 2));
    for (const { one, returns } of played) onFinished(one, returns);
    ranked = [...played.map(({ one }) => one), ...ranked];
  }
  for (const { one, returns } of remaining) if (returns.length > 0) onFinished(one, returns);
  return [...remaining.map(({ one }) => one), ...ranked];
}
