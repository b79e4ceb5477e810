import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readWholeRun } from './open-run.js';
import { readGroup, runFiles } from './recorded-run.js';
import { renderGroupReport } from './report/group-report.js';
import type { RunData } from './report/run-data.js';
import { renderReport } from './report/run-report.js';

/** Writes `report.html` of the run at `path`; returns its path. */
export async function writeRunReport(path: string): Promise<string> {
  const report = join(path, runFiles.report);
  writeFileSync(report, renderReport(await runData(path)));
  return report;
}

export const groupReportPath = (path: string) => join(path, runFiles.report);

/** Writes `report.html` of the repeats below `path`. */
export async function writeGroupReport(path: string): Promise<void> {
  const { runs } = readGroup(path);
  const begun = runs.filter((name) => existsSync(join(path, name, runFiles.manifest)));
  const repeats = [];
  for (const name of begun) {
    repeats.push({ data: await runData(join(path, name)), href: `${name}/${runFiles.report}` });
  }
  writeFileSync(groupReportPath(path), renderGroupReport(repeats));
}

async function runData(path: string): Promise<RunData> {
  const { manifest, config, family, recorded } = await readWholeRun(path);
  return {
    manifest,
    config,
    configYaml: readFileSync(join(path, runFiles.config), 'utf8'),
    parameters: family.parameters,
    policy: family.description,
    entries: recorded.entries,
    calls: recorded.calls,
    events: recorded.events,
  };
}
