import type { CommandContext } from '../../base/context.js';
import { formatProblem, UserError } from '../../base/errors.js';
import { type Config, modulesOf } from '../../config/config.js';
import { type LoadedConfig, loadConfig } from '../../config/load.js';
import { languageModelOf, type ModelConfig } from '../../config/model.js';
import { isBuiltInId, isRemoteId } from '../../environments/catalogue/open.js';
import { defaultSampling, samplingText } from '../../models/local/default-sampling.js';
import { findDevices } from '../../models/local/engine/find-devices.js';
import { policiesText } from '../../policies/policy.js';
import { createReplayBuffer } from '../../rollout/replay-buffer.js';
import { nothingRecorded } from '../../runs/reader.js';
import { Prompter } from '../prompter.js';
import { assemble, closeEnvironment, languageModelsOf } from '../setup/assemble.js';
import { contextOf } from '../setup/open-models.js';
import { askModel } from './ask-model.js';
import { errorsIn, type Finding, found, warning, warningsIn } from './findings.js';
import { preflight } from './preflight.js';
import { promptSize } from './prompt-size.js';

/**
 * Checks a config before it is run. Returns errors in it as findings instead of throwing them.
 * @param offline if true, contacts no server and runs none of the code that the config names
 */
export async function checkConfig(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  offline: boolean,
  { cwd, env, stop }: Pick<CommandContext, 'cwd' | 'env' | 'stop'>,
): Promise<readonly Finding[]> {
  let loaded: LoadedConfig | undefined;
  try {
    loaded = loadConfig({ file, overrides, cwd });
    if (offline && runsCode(loaded.config)) return [...notesOf(loaded), ...located(loaded, [notChecked])];
    const own = offline ? {} : { ask: stop.abort };
    const assembly = await assemble(loaded.config, env, undefined, own);
    try {
      const findings = preflight(
        assembly,
        await contextOf(assembly.config.model, assembly.model, !offline, stop.abort),
      );
      const sampling = samplingFindings(loaded.config.model);
      const device = offline ? [] : await deviceFindings(assembly.config.model);
      const answer = offline ? [] : await askModel(assembly, env, stop.finish);
      const [failed, others] = [errorsIn(answer), answer.filter(({ level }) => level !== 'error')];
      // Models that don't answer come first, so that they aren't overlooked.
      return [
        ...located(loaded, failed),
        ...notesOf(loaded),
        ...located(loaded, [...findings, ...sampling, ...device, ...others]),
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

const runsCode = (config: Config) => isRemoteId(config.environment.id) || modulesOf(config).length > 0;

const notChecked = warning({
  field: 'config',
  message:
    'the config names modules or another program, which are not run offline, so only its fields are checked',
  hint: 'if you trust this code, run the check without --offline',
});

const notesOf = (loaded: LoadedConfig | undefined): readonly Finding[] =>
  (loaded?.notes ?? []).map((note) => found('config', note.trim()));

function located(loaded: LoadedConfig, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) =>
    finding.level === 'ok' ? finding : { ...finding, ...loaded.locate(new UserError(finding)).problems[0]! },
  );
}

export function samplingFindings(config: ModelConfig): readonly Finding[] {
  const model = languageModelOf(config);
  if (model?.provider !== 'local') return [];
  return [found('model.temperature', `samples with ${samplingText(defaultSampling(model))}`)];
}

/**
 * Reports the device that a local model will use, and why others can't be used. Doesn't report a missing device,
 * because loading the model does.
 */
export async function deviceFindings(config: ModelConfig): Promise<readonly Finding[]> {
  const model = languageModelOf(config);
  if (model?.provider !== 'local') return [];
  const { auto, usable, unusable } = await findDevices();
  const device = model.device === 'auto' ? auto : model.device;
  if (!usable.includes(device)) return [];
  const others = [
    ...usable.filter((other) => other !== device).map((other) => `${other} is also usable`),
    ...unusable.map(({ device: other, reason }) => `${other} can't be used: ${reason}`),
  ];
  return [found('model.device', [device, ...others].join('; '))];
}

/**
 * Builds the environment, the policy and the first prompt of an imported config, before it is written. Doesn't need the
 * model.
 * @returns notes on the parts that were built, and warnings
 * @throws UserError with the keys of the original config
 */
export async function buildImport(
  loaded: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const { config } = loaded;
  const { id } = config.environment;
  if (!isBuiltInId(id)) return [`not built: ${id} runs in another program; check it with policyloop check`];
  try {
    const made = await assemble({ ...config, model: { provider: 'random' } }, env);
    const assembly = { ...made, config: { ...made.config, model: config.model } };
    try {
      new Prompter({ ...assembly, buffer: createReplayBuffer(), recorded: nothingRecorded }).messages(1);
      const findings = preflight(assembly);
      const errors = errorsIn(findings);
      if (errors.length > 0) throw new UserError(errors);
      const { evaluation } = config;
      const steps = Math.min(made.environment.maxSteps ?? evaluation.maxSteps, evaluation.maxSteps);
      const { last } = promptSize(assembly);
      return [
        `built: ${made.environment.id}, ${policiesText(made.family)}, episodes of at most ${steps} steps, prompts of up to about ${Math.round(last)} tokens`,
        ...warningsIn(findings).map((one) => `warning ${formatProblem(one)}`),
      ];
    } finally {
      await closeEnvironment(made);
    }
  } catch (error) {
    throw error instanceof UserError ? loaded.locate(error) : error;
  }
}
