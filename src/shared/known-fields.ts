import * as z from 'zod'
import { cutText } from './cut-text'
import { findNearest } from './find-nearest'

/** Unknown fields that an error names. */
const namedMax = 3

/**
 * Describes an object that has these fields and no others. What gives a right is read with it: a misspelt field that
 * was ignored would give more than was asked for. The error names the field, and the nearest known one.
 */
export const knownFields = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      // An extended object has more fields.
      const known = Object.keys(issue.inst instanceof z.ZodObject ? issue.inst.shape : shape)
      return issue.keys
        .slice(0, namedMax)
        .map((key) => formatField(key, known))
        .join(' ')
    },
  })

/** The body of a request that needs none: it may be empty. */
export const noFields = knownFields({})

function formatField(name: string, known: readonly string[]): string {
  if (known.length === 0) return `${cutText(name, 100)} is not a field. The request has none.`
  const nearest = findNearest(name, known)
  const hint = nearest === null ? `Known fields: ${known.join(', ')}.` : `Did you mean ${nearest}?`
  return `${cutText(name, 100)} is not a field. ${hint}`
}

/** Returns where an issue is; of an unknown field, the field. */
export const toIssuePath = (issue: z.core.$ZodIssue): string[] =>
  [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].map(String)
