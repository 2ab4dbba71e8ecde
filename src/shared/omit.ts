/** Returns an object without some of its properties. */
export function omit<Whole extends object, Name extends keyof Whole & string>(
  whole: Whole,
  names: readonly Name[],
): Omit<Whole, Name> {
  const left = new Set<string>(names)
  const kept = Object.entries(whole).filter(([name]) => !left.has(name))
  return Object.fromEntries(kept) as Omit<Whole, Name>
}
