/** Policies written as hostile programs. */
import { hostilePrograms, openProgramAttacks } from '../../test/attacks/hostile-programs.js';
import { type AttackKind, shorten } from './attack.js';

export const policyPrograms: AttackKind = {
  name: 'policy programs',
  percent: 100,
  async open() {
    const { attack } = await openProgramAttacks();
    return {
      cases: hostilePrograms.length,
      attack(_, n) {
        const program = hostilePrograms[n]!;
        const fault = attack(program);
        return fault && `${fault}: ${shorten(program.source)}`;
      },
    };
  },
};
