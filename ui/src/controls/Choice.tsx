// One of several names; a text may hold another one, which is then the first on offer.

interface Props {
  id?: string | undefined;
  /** Where nothing else labels it. */
  label?: string | undefined;
  value: string;
  known: string[];
  chosen(name: string): void;
}

export function Choice({ id, label, value, known, chosen }: Props) {
  return (
    <select id={id} aria-label={label} value={value} onChange={(event) => chosen(event.currentTarget.value)}>
      {[...(known.includes(value) ? [] : [value]), ...known].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}
