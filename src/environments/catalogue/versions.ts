/** Maps older versions of built-in environments to the version that replaces them, and lists the differences. */

interface Replacement {
  readonly id: string;
  readonly note: string;
}

interface Versions {
  /** The built-in version. */
  readonly played: number;
  /** Differences of older versions, keyed by the last version with that difference. */
  readonly differences: Readonly<Record<number, string>>;
}

const upTo = (played: number, differences: Versions['differences']): Versions => ({ played, differences });

const oldSimulator = 'versions up to v3 ran on mujoco-py and MuJoCo 2.1 or older';
const healthy = (falling: 'pole' | 'robot') =>
  `v4 and older also gave the healthy reward for the last step, in which the ${falling} falls`;
const mujoco = (difference: string) => upTo(5, { 4: difference, 3: oldSimulator });

/** Version histories from Gymnasium's documentation (gymnasium.farama.org). */
const versions: Readonly<Record<string, Versions>> = {
  Pendulum: upTo(1, { 0: 'v1 only simplified the equations' }),
  Acrobot: upTo(1, {
    0: 'v0 observed the two angles instead of their sines and cosines, and truncated episodes after 200 steps',
  }),
  FrozenLake: upTo(1, { 0: 'v1 corrected the rewards' }),
  Blackjack: upTo(1, { 0: 'v1 corrected the reward for naturals' }),
  Taxi: upTo(4, { 2: 'v2 and older had a different map' }),
  HalfCheetah: mujoco('rewards and observations of v4 are the same'),
  Hopper: mujoco(healthy('robot')),
  Walker2d: mujoco(`${healthy('robot')}; the left foot had more friction than the right one`),
  Swimmer: mujoco('rewards and observations of v4 are the same'),
  Reacher: mujoco(
    'v4 and older observed an eleventh number, which was always 0, and measured the distance before the step',
  ),
  InvertedPendulum: mujoco(healthy('pole')),
  InvertedDoublePendulum: mujoco(
    `${healthy('pole')}; they also observed two more numbers, which were always 0`,
  ),
};

/** Environment names found in configs of other projects. */
const names: Readonly<Record<string, string>> = { DoubleInvertedPendulum: 'InvertedDoublePendulum' };

/**
 * The environment that replaces an older version (`HalfCheetah-v4`) or another name; undefined for other ids, and for
 * versions without differences.
 */
export function replacementFor(id: string): Replacement | undefined {
  const [, written = '', digits] = /^([A-Za-z0-9]+?)(?:-v(\d+))?$/.exec(id) ?? [];
  if (Object.hasOwn(names, written)) {
    const name = names[written]!;
    const played = `${name}-v${versions[name]!.played}`;
    return { id: played, note: `${id} runs as ${played}, its name in Gymnasium` };
  }
  if (!Object.hasOwn(versions, written) || digits === undefined) return undefined;
  const { played, differences } = versions[written]!;
  const version = Number(digits);
  if (version >= played) return undefined;
  const newestFirst = Object.entries(differences).sort(([a], [b]) => Number(b) - Number(a));
  const applicable = newestFirst
    .filter(([last]) => version <= Number(last))
    .map(([, difference]) => difference);
  if (applicable.length === 0) return undefined;
  return {
    id: `${written}-v${played}`,
    note: `${id} runs as ${written}-v${played}: ${applicable.join('; ')}. For the original, use gymnasium:${id} with a version of Gymnasium that still includes it`,
  };
}
