import * as z from 'zod'
import { aws } from '../../shared/config'

/** Schemas of names that become part of grants and URLs, so they must not contain separators. */

export const bucketInput = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'Must be the name of a bucket')
  .refine((name) => !name.includes('..'), 'Must be the name of a bucket')

/** The key of an object. The URL parser would resolve a segment . or .. as a folder. */
export const keyInput = z
  .string()
  .min(1)
  .max(aws.keyCharsMax)
  .refine(
    (key) => !key.split('/').some((part) => part === '.' || part === '..'),
    'Must not contain a segment . or ..',
  )
  .describe('Of the object, e.g. reports/2026/may.csv')

/** Returns the encoded path of a bucket or object. */
export const toPath = (bucket: string, key = ''): string =>
  [bucket, ...(key === '' ? [] : key.split('/'))].map(encodeSegment).join('/')

/** Encodes a segment as the signature does: everything but letters, digits and -_.~ (RFC 3986). */
const encodeSegment = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
