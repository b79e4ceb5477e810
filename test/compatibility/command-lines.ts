/**
 * Command lines of version 0.1.0. `record.ts` ran them with that version and keeps what it wrote and printed in
 * `test/fixtures/version-0.1.0/`; `previous-version.test.ts` runs `looks` and `resumes` with this version.
 */

/** Words of a command line; quotes hold several together. */
export const words = (line: string): readonly string[] =>
  [...line.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);

/** They write the directories, in this order, in one empty folder. */
export const builds = [
  'run quickstart name=quick iterations=3',
  'run mountaincar-numeric name=climb model.provider=hill-climb iterations=6 candidates=2 warmup=4 evaluation.episodes=4',
  'run cartpole-numeric name=racing model.provider=cma-es iterations=6 warmup=4 evaluation.racing.block=2 memory.best=8',
  'run frozenlake-numeric name=repeated model.provider=random iterations=4 warmup=4 repeats=2 evaluation.episodes=4',
  'sweep frozenlake-numeric name=swept model.provider=random,hill-climb seed=1,2 iterations=3 warmup=3',
  'play blackjack player=random episodes=6 name=hands',
  'play cooking player=expert episodes=2 name=recipes',
  'finetune dataset collected --recipe best-of-group --out dataset',
  'finetune train lora dataset=dataset output=tuned/adapter method.rank=2 batchExamples=2',
  'finetune rl cartpole-ppo output=tuned/ppo updates=2 maxEpisodes=20 policy.hidden=[8] value.hidden=[8]',
];

/** They train, and are killed as soon as there is a checkpoint. */
export const killed = {
  'tuned/imitation':
    'finetune train lora dataset=dataset output=tuned/imitation method.rank=2 batchExamples=2 epochs=20 evaluateEvery=5',
  'tuned/reinforcement':
    'finetune rl cartpole-ppo output=tuned/reinforcement updates=40 maxEpisodes=400 policy.hidden=[8] value.hidden=[8]',
};

/** They read what the builds wrote; `--json` is added. */
export const looks = [
  'list',
  'list environment=MountainCar-v0',
  'show quick',
  'show climb',
  'show racing',
  'show hands',
  'show recipes',
  'compare sweep/*/*',
  'compare repeated racing --csv groups.csv --html groups.html',
  'evaluate quick --episodes 5',
  'evaluate climb --episodes 5',
  'report quick',
  'render quick --out quick.svg',
  'export quick repeated --format parquet',
  "query 'SELECT environment, count(*) AS n FROM runs GROUP BY ALL ORDER BY ALL'",
  'tag quick old',
  'note quick recorded',
  'finetune dataset quick --recipe improvement --out improved',
  'finetune merge tuned/adapter --out merged',
  'finetune gguf merged --out merged.gguf',
  'check quickstart',
  'check mountaincar-numeric model.provider=random',
  'check nowhere',
  'show nowhere',
  'run quickstart unknown.key=1',
  'environments',
  'environments CartPole-v1',
  'remove recipes --yes',
];

/** They continue what the builds wrote: runs get more iterations, complete trainings say that they are. */
export const resumes = [
  'resume quick iterations=5',
  'resume climb iterations=8',
  'resume racing iterations=8',
  'run mountaincar-numeric name=again model.provider=replayed model.run=buffers/climb iterations=6 candidates=2 warmup=4 evaluation.episodes=4',
  'finetune train lora dataset=dataset output=tuned/adapter method.rank=2 batchExamples=2',
  ...Object.values(killed),
];

/** Directories of runs get a name with the time; here they have the name before it. */
export const shortNames = /^(quick|climb|racing|repeated|hands|recipes|sweep|again)-/;

/** What resumed runs record and resumed trainings learn, byte for byte. */
export const resumedFiles = [
  ...['quick', 'climb', 'racing', 'again'].map((run) => `buffers/${run}/evaluations.jsonl`),
  'tuned/imitation/adapter/adapter_model.safetensors',
  'tuned/reinforcement/policy/policy.safetensors',
];

/**
 * The part of printed JSON that must stay: keys, numbers and single words. Sentences, paths, times and sizes in bytes
 * may change.
 */
export function lasting(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => lasting(one, key));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, lasting(one, name)]));
  }
  if (typeof value === 'number')
    return /seconds|ms$|bytes|speed|rate|pid|size|time|started|ended/i.test(key) ? 'number' : value;
  if (typeof value === 'string')
    return /^[A-Za-z][\w-]{0,30}$/.test(value) ? value.replace(/-\d{8}-\d{6}$/, '') : 'text';
  return value;
}
