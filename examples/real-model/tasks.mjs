/**
 * Random control tasks to learn to search on: a linear system with three or four numbers, of which some drift away unless
 * they are pushed back. `seed` draws the task; the seed of an episode draws its start.
 */
export default {
  create: ({ seed = 0 } = {}) => {
    const draw = numbersFrom(seed + 1);
    const size = 3 + (seed % 2);
    const growth = 1 + 0.05 * draw();
    const matrix = Array.from({ length: size }, (_, i) =>
      Array.from({ length: size }, (_, j) => (i === j ? growth : 0.1 * (draw() - 0.5))),
    );
    const push = Array.from({ length: size }, () => 0.4 * (draw() - 0.5));
    let state;
    return {
      observationSpace: { kind: 'box', low: Array(size).fill(-Infinity), high: Array(size).fill(Infinity) },
      actionSpace: { kind: 'box', low: [-1], high: [1] },
      maxSteps: 100,
      reset(_seed, random) {
        state = Array.from({ length: size }, () => random.uniform(-0.3, 0.3));
        return state;
      },
      step([action]) {
        const force = Math.max(-1, Math.min(1, action));
        state = state.map((_, i) => matrix[i].reduce((sum, a, j) => sum + a * state[j], push[i] * force));
        return { observation: state, reward: 1, terminated: state.some((x) => Math.abs(x) > 1) };
      },
    };
  },
};

/** Numbers between 0 and 1 (mulberry32). */
function numbersFrom(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
