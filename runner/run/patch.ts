/** Bytes of a patch, in UTF-8. */
const patchBytesMax = 1_048_576
const truncatedNote = '[Truncated: the patch is longer than 1 MiB.]\n'

/** Returns a patch as it is reported: whole lines up to the limit, with a note when there were more. */
export function truncatePatch(patch: string): string {
  const bytes = Buffer.from(patch)
  if (bytes.length <= patchBytesMax) return patch
  const kept = bytes.subarray(0, patchBytesMax - truncatedNote.length)
  const end = kept.lastIndexOf(10) + 1
  // one line may be longer than the limit; half a character is left out
  const text = kept
    .subarray(0, end === 0 ? kept.length : end)
    .toString()
    .replace(/(?<!\uFFFD)\uFFFD+$/, '')
  return `${text}${text.endsWith('\n') ? '' : '\n'}${truncatedNote}`
}
