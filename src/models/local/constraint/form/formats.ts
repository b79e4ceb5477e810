/** String formats that are enforced, as patterns. Other formats are ignored, as JSON Schema allows. */
const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const ipv4 = `${octet}(\\.${octet}){3}`;
const group = '[0-9a-fA-F]{1,4}';
/** Eight groups, or fewer around a `::`. */
const ipv6 = [
  `(${group}:){7}${group}`,
  ...Array.from({ length: 7 }, (_, before) =>
    `${before === 0 ? '' : `${group}(:${group}){${before - 1}}`}::(${group}(:${group}){0,${6 - before - 1}})?`.replace(
      '{0,-1}',
      '{0}',
    ),
  ),
].join('|');
const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,40}[a-zA-Z0-9])?';
const hostname = `${label}(\\.${label}){0,3}`;
const day = '(0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8])';
const date = `\\d{4}-(${day})`;
const time = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)';
const count = '\\d{1,4}';
const clock = `T(${count}H(${count}M)?(${count}S)?|${count}M(${count}S)?|${count}S)`;
const uri = `https?://${hostname}(:[1-9]\\d{1,3})?(/[a-zA-Z0-9._~-]+)*/?(\\?[a-zA-Z0-9._~=&-]+)?(#[a-zA-Z0-9._~-]+)?`;
const whole = (pattern: string) => `^(${pattern})$`;

export const formats: Readonly<Record<string, string>> = {
  date: whole(date),
  time: whole(time),
  'date-time': whole(`${date}T${time}`),
  duration: whole(
    `P((${count}Y(${count}M)?(${count}D)?|${count}M(${count}D)?|${count}D)(${clock})?|${count}W|${clock})`,
  ),
  email: whole(`[a-zA-Z0-9_+-]+(\\.[a-zA-Z0-9_+-]+){0,3}@${label}(\\.${label}){0,2}\\.[a-zA-Z]{2,10}`),
  hostname: whole(hostname),
  ipv4: whole(ipv4),
  ipv6: whole(ipv6),
  uuid: whole('[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}'),
  uri: whole(uri),
  url: whole(uri),
};
