/** Selects the environment variables of child processes: those that they need, and those that the user lists. */

const names =
  'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR TEMP TMP VIRTUAL_ENV DISPLAY WAYLAND_DISPLAY XAUTHORITY ' +
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS ' +
  'NODE_OPTIONS JAVA_HOME SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA USERPROFILE PROGRAMDATA ' +
  'PROGRAMFILES NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE';

/** Prefixes of variables for locales, loaders, desktops, Python, graphics, accelerators, numerics and environments. */
const prefixes =
  'LC_ LD_ DYLD_ XDG_ PYTHON CONDA PYENV CUDA NVIDIA NCCL ROCR_ ROCM HIP_ OMP_ MKL_ OPENBLAS_ KMP_ NUMEXPR_ ORT_ TORCH ' +
  'TF_ JAX_ XLA_ MUJOCO PYOPENGL EGL_ LIBGL_ MESA_ SDL_ GYM ALE_';

const allowedNames = new Set(names.split(' '));
const allowedPrefixes = prefixes.split(' ');
const secretPattern = /KEY|TOKEN|SECRET|PASS|CREDENTIAL/;

/** Variable that lists further variables to pass, separated by commas. */
const passVariable = 'POLICYLOOP_PASS_ENV';

/** The variables that child processes may see, including those that `POLICYLOOP_PASS_ENV` lists. */
export function childEnv(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  const passedNames = (env[passVariable] ?? '').split(',').map((name) => name.trim());
  const isPassed = (name: string) => {
    const upper = name.toUpperCase();
    if (passedNames.includes(name)) return true;
    return (
      !secretPattern.test(upper) &&
      (allowedNames.has(upper) || allowedPrefixes.some((prefix) => upper.startsWith(prefix)))
    );
  };
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
}
