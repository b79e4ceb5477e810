/** The searches that know nothing but parameters and returns: what a language model has to beat. */
export const controls = ['random', 'hill-climb', 'cma-es', 'one-plus-one-es', 'mixture'] as const;
export type Control = (typeof controls)[number];

export const isControl = (name: string): name is Control => controls.some((control) => control === name);

export const controlLabels: Readonly<Record<Control, string>> = {
  random: 'random search',
  'hill-climb': 'hill climbing',
  'cma-es': 'CMA-ES',
  'one-plus-one-es': '(1+1)-ES',
  mixture: 'mixture of moves',
};

/** The arm of a study in which this control plays; its settings are the defaults. */
export const controlArm = <Name extends Control>(name: Name) => ({
  name,
  label: controlLabels[name],
  provider: name,
  overrides: [`model.provider=${name}`],
});
