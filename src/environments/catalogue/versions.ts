/** Maps older versions of built-in environments to the version that replaces them. */

interface Replacement {
  readonly id: string;
  readonly note: string;
}

/** The built-in version, and the last version that differed from it, according to Gymnasium's documentation. */
const versions: Readonly<Record<string, readonly [builtIn: number, lastDifferent: number]>> = {
  Pendulum: [1, 0],
  Acrobot: [1, 0],
  FrozenLake: [1, 0],
  Blackjack: [1, 0],
  Taxi: [4, 2],
  HalfCheetah: [5, 4],
  Hopper: [5, 4],
  Walker2d: [5, 4],
  Swimmer: [5, 4],
  Reacher: [5, 4],
  InvertedPendulum: [5, 4],
  InvertedDoublePendulum: [5, 4],
};

/** Environment names found in configs of other projects. */
const aliases: Readonly<Record<string, string>> = { DoubleInvertedPendulum: 'InvertedDoublePendulum' };

/**
 * Returns the environment that replaces an older version (`HalfCheetah-v4`) or another name; undefined for other ids,
 * and for versions that behave the same.
 */
export function replacementFor(id: string): Replacement | undefined {
  const [, givenName = '', digits] = /^([A-Za-z0-9]+?)(?:-v(\d+))?$/.exec(id) ?? [];
  const name = Object.hasOwn(aliases, givenName) ? aliases[givenName]! : givenName;
  const [builtIn, lastDifferent] = Object.hasOwn(versions, name) ? versions[name]! : [0, -1];
  if (name === givenName && (digits === undefined || Number(digits) > lastDifferent)) return undefined;
  return {
    id: `${name}-v${builtIn}`,
    note: `${id} runs as ${name}-v${builtIn}, whose rewards, observations or episodes may differ. For the original, use gymnasium:${id} with a version of Gymnasium that includes it`,
  };
}
