/**
 * `npm run test:worlds [-- GAMES COMMANDS]`: checks that the gold paths of GAMES (1000) generated games per world
 * win, and that COMMANDS (100,000) random commands never throw and, if refused, change nothing.
 */
import process from 'node:process';
import { textWorlds } from '../src/environments/text/worlds/worlds.js';
import { checkGold, fuzzCommands } from '../test/environments/text/checks.js';

const [games = 1000, commands = 100_000] = process.argv.slice(2).map(Number);
let wrong = 0;
for (const world of textWorlds) {
  const start = performance.now();
  const failures: string[] = [];
  for (let seed = 0; seed < games; seed++) {
    const failure = checkGold(world, seed);
    if (failure !== undefined) failures.push(`seed ${seed}: ${failure}`);
  }
  const { refused, understood, failures: fuzzed } = fuzzCommands(world, commands);
  failures.push(...fuzzed);
  wrong += failures.length;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  process.stdout.write(
    `${world.name}: ${games} games, ${refused} refused and ${understood} understood commands, ${failures.length} failures, ${seconds} s\n`,
  );
  for (const failure of failures.slice(0, 10)) process.stdout.write(`  ${failure}\n`);
}
process.exitCode = wrong > 0 ? 1 : 0;
