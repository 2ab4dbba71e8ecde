import type * as z from 'zod'

/** Ends of ranges by what has them, and their unit. */
const units: Record<string, readonly [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
}

/** Returns the message of an issue for people: its schema's own, else a sentence in place of zod's default. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.message.startsWith('Too small: ')) {
    return describeEnd(issue.origin, Number(issue.minimum), issue.inclusive !== false, 'least')
  }
  if (issue.code === 'too_big' && issue.message.startsWith('Too big: ')) {
    return describeEnd(issue.origin, Number(issue.maximum), issue.inclusive !== false, 'most')
  }
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid option: ')) {
    return `Must be one of ${issue.values.map(String).join(', ')}`
  }
  return issue.message
}

function describeEnd(origin: string, end: number, isIncluded: boolean, which: 'least' | 'most') {
  const [one, many] = units[origin] ?? []
  const count = end.toLocaleString('en-US')
  if (one === undefined) {
    const than = which === 'least' ? 'more' : 'less'
    return isIncluded ? `Must be at ${which} ${count}` : `Must be ${than} than ${count}`
  }
  if (which === 'least' && end === 1) return 'Must not be empty'
  return `Must have at ${which} ${count} ${end === 1 ? one : many}`
}
