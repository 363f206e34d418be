// A list of names to select from. A name of the text that is not in the list is added as its first.

interface Props {
  id?: string | undefined;
  /** Needed if no other element labels it. */
  label?: string | undefined;
  value: string;
  known: string[];
  onSelect(name: string): void;
}

export function Choice({ id, label, value, known, onSelect }: Props) {
  return (
    <select id={id} aria-label={label} value={value} onChange={(event) => onSelect(event.currentTarget.value)}>
      {[...(known.includes(value) ? [] : [value]), ...known].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}
