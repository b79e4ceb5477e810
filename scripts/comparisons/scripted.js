/**
 * A model that is a program: it changes the best policy in the prompt by Gaussian steps, and revises by smaller
 * steps. It represents a model that searches locally and always answers in the right format.
 */
const [step, finer] = [1.5, 0.5];
/** Fraction of a table's entries that are drawn again. */
const redrawn = 0.15;

/** Lehmer's generator with Park and Miller's constants; approximates normal draws by sums of twelve uniform ones. */
function generator(seed) {
  let state = (seed % 2147483646) + 1;
  const uniform = () => {
    state = (48271 * state) % 2147483647;
    return state / 2147483647;
  };
  // Skip the first draws, because they are similar for neighbouring seeds.
  for (let i = 0; i < 8; i++) uniform();
  const normal = () => Array.from({ length: 12 }, uniform).reduce((sum, one) => sum + one, -6);
  return { uniform, normal };
}

const valuesIn = (line) => [...line.matchAll(/params\[\d+\]: (-?[\d.]+)/g)].map(([, value]) => Number(value));

export default {
  name: 'scripted',
  create: () => ({
    async generate(messages, { grammar, seeds }) {
      const { labels, number } = grammar;
      const { choices, decimals, high, low } = number;
      const { normal, uniform } = generator(seeds[0]);
      const lines = messages
        .find(({ role }) => role === 'user')
        .content.split('\n')
        .filter((line) => line.includes('params[0]:'));
      const revises = messages[0].content.includes('You look at how the policy');
      // A critic's prompt shows the proposal first; the compact prompt set shows the best policy last.
      const from = valuesIn((revises ? lines[0] : lines.at(-1)) ?? '');
      const anywhere = () =>
        decimals === 0
          ? (choices ?? Array.from({ length: high - low + 1 }, (_, i) => low + i))[
              Math.floor(uniform() * (choices?.length ?? high - low + 1))
            ]
          : low + uniform() * (high - low);
      const near = (value) => value + (revises ? finer : step) * normal();
      const values = labels.map((_, i) => {
        if (from.length !== labels.length) return anywhere();
        if (decimals === 0) return uniform() < redrawn ? anywhere() : from[i];
        return Math.min(high, Math.max(low, near(from[i])));
      });
      return labels.map((label, i) => `${label} ${values[i].toFixed(decimals)}`).join('');
    },
  }),
};
