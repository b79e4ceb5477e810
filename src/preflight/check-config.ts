import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { type LoadedConfig, loadConfig } from '../config/load.js';
import { isBuiltInId } from '../environments/catalogue/open.js';
import { assemble, closeEnvironment } from '../experiment/assemble.js';
import { languageModelIn } from '../experiment/proposer.js';
import { askModel, contextsOf } from './ask-model.js';
import { errorsIn, type Finding, found } from './findings.js';
import { environmentLeftOut, modulesLeftOut, notChecked, openParts, standIns } from './left-out.js';
import { deviceFindings, samplingFindings } from './local-findings.js';
import { preflight } from './preflight.js';

/**
 * All that can be known of a config before it is run; what is wrong with it is an error among the findings.
 * @param offline asks no server, starts no program and imports no module
 */
export async function checkConfig(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  offline: boolean,
  { cwd, env, stop }: Pick<CommandContext, 'cwd' | 'env' | 'stop'>,
): Promise<readonly Finding[]> {
  let loaded: LoadedConfig | undefined;
  try {
    loaded = loadConfig({ file, overrides, cwd });
    const leftOut = offline ? [...environmentLeftOut(loaded.config), ...modulesLeftOut(loaded.config)] : [];
    const unchecked = leftOut.map(notChecked);
    if (leftOut.some(({ needed }) => needed)) {
      await openParts(loaded.config, env, isBuiltInId(loaded.config.environment.id));
      return [...notesOf(loaded), ...located(loaded, unchecked)];
    }
    const own = offline ? standIns(loaded.config) : { ask: stop.abort };
    const assembly = await assemble(loaded.config, env, undefined, own);
    try {
      const findings = preflight(assembly, await contextsOf(assembly, !offline, stop.abort));
      const sampling = samplingFindings(loaded.config.model);
      const device = offline ? [] : await deviceFindings(assembly.config.model);
      const answer = offline ? [] : await askModel(assembly, env, stop.finish);
      const [failed, others] = [errorsIn(answer), answer.filter(({ level }) => level !== 'error')];
      // A model that does not answer comes first: nothing else matters before that.
      return [
        ...located(loaded, failed),
        ...notesOf(loaded),
        ...located(loaded, [...unchecked, ...findings, ...sampling, ...device, ...others]),
      ];
    } finally {
      await closeEnvironment(assembly);
      await languageModelIn(assembly.model)?.close?.();
      await assembly.critic?.model?.close?.();
      await assembly.feedback?.model?.close?.();
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { problems } = loaded?.locate(error) ?? error;
    return [...notesOf(loaded), ...problems.map((problem): Finding => ({ level: 'error', ...problem }))];
  }
}

/** What an import or an override did beyond what it says is in order, but has to be known. */
const notesOf = (loaded: LoadedConfig | undefined): readonly Finding[] =>
  (loaded?.notes ?? []).map((note) => found('config', note.trim()));

/** With their places in the file. */
function located(loaded: LoadedConfig, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) =>
    finding.level === 'ok' ? finding : { ...finding, ...loaded.locate(new UserError(finding)).problems[0]! },
  );
}
