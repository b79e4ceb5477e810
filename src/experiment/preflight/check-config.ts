import { isDeepStrictEqual } from 'node:util';
import type { CommandContext } from '../../base/context.js';
import { EnvironmentError } from '../../base/environment-error.js';
import { UserError } from '../../base/errors.js';
import { createGenerator } from '../../base/random/generator.js';
import type { Progress } from '../../base/text/progress.js';
import { type Config, modulesOf } from '../../config/config.js';
import { type LoadedConfig, loadConfig } from '../../config/load.js';
import { isRemoteId } from '../../environments/catalogue/open.js';
import type { OnRead } from '../../models/language-model.js';
import { ProgramFault } from '../../policies/program/program.js';
import { evaluate } from '../../rollout/evaluation.js';
import { type Assembly, assemble, closeEnvironment, languageModelsOf } from '../setup/assemble.js';
import { contextOf } from '../setup/open-models.js';
import { askModel } from './ask-model.js';
import { errorsIn, type Finding, okFinding, warningFinding } from './findings.js';
import { preflight } from './preflight.js';

/**
 * Checks a config before it is run. Returns errors in it as findings instead of throwing them.
 * @param offline if true, contacts no server and runs none of the code that the config names
 * @param progress shows how far a local model has read the first prompt
 */
export async function checkConfig(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  offline: boolean,
  { cwd, env, stop }: Pick<CommandContext, 'cwd' | 'env' | 'stop'>,
  progress?: Pick<Progress, 'begin' | 'update'>,
): Promise<readonly Finding[]> {
  let loaded: LoadedConfig | undefined;
  try {
    loaded = loadConfig({ file, overrides, cwd });
    if (offline && runsCode(loaded.config)) return [...notesOf(loaded), ...locate(loaded, [codeWarning])];
    const assembly = await assemble(loaded.config, env, undefined, { ask: offline ? undefined : stop.abort });
    try {
      const context = await contextOf(assembly.config.model, assembly.proposer.model, !offline, stop.abort);
      const findings = preflight(assembly, context);
      let hasBegun = false;
      const onRead: OnRead = (value, total) => {
        if (!hasBegun) progress?.begin({ label: 'testing the model: prompt token', total, value });
        hasBegun = true;
        progress?.update(value);
      };
      const playFindings = offline ? [] : await playTwice(assembly, stop.abort);
      const modelFindings = offline ? [] : await askModel(assembly, env, { signal: stop.finish, onRead });
      const modelErrors = errorsIn(modelFindings);
      const otherFindings = modelFindings.filter(({ level }) => level !== 'error');
      // Failures come first, so that they aren't overlooked.
      return [
        ...locate(loaded, [...playFindings, ...modelErrors]),
        ...notesOf(loaded),
        ...locate(loaded, [...findings, ...otherFindings]),
      ];
    } finally {
      await closeEnvironment(assembly);
      for (const model of languageModelsOf(assembly)) await model.close?.();
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { problems } = loaded?.locate(error) ?? error;
    return [...notesOf(loaded), ...problems.map((problem): Finding => ({ level: 'error', ...problem }))];
  }
}

/** Plays the start of an episode twice with a random policy, because an environment can fail, or ignore the seed. */
async function playTwice(assembly: Assembly, abort: AbortSignal): Promise<readonly Finding[]> {
  const setup = { ...assembly, maxSteps: 100, record: 'all' } as const;
  try {
    const { episodes } = await evaluate(setup, assembly.family.initial(createGenerator(0)), [0, 0], abort);
    const [first, second] = episodes.map((record) => ({ ...record, episode: 0 }));
    if (!isDeepStrictEqual(first, second)) return [differentEpisodes];
  } catch (error) {
    if (error instanceof EnvironmentError)
      return [{ level: 'error', field: 'environment', message: error.message }];
    if (!(error instanceof ProgramFault)) throw error;
  }
  return [];
}

const differentEpisodes = warningFinding({
  field: 'environment',
  message: 'two episodes with the same seed and the same policy differ, so runs cannot be repeated',
  hint: 'in your own environment, draw random numbers only from the generator or the seed that `reset` receives',
});

const runsCode = (config: Config) => isRemoteId(config.environment.id) || modulesOf(config).length > 0;

const codeWarning = warningFinding({
  field: 'config',
  message:
    'the config names modules or another program, which are not run offline, so only its fields are checked',
  hint: 'if you trust this code, run the check without --offline',
});

const notesOf = (loaded: LoadedConfig | undefined): readonly Finding[] =>
  (loaded?.notes ?? []).map((note) => okFinding('config', note.trim()));

function locate(loaded: LoadedConfig, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) =>
    finding.level === 'ok' ? finding : { ...finding, ...loaded.locate(new UserError(finding)).problems[0]! },
  );
}
