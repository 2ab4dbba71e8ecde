import * as z from 'zod'

/** What an admin sets as the credential: an access key as JSON. */
const shape = z.strictObject({
  access_key_id: z.string().regex(/^[A-Za-z0-9_]{8,128}$/, 'has at least 8 letters and digits'),
  secret_access_key: z.string().min(8),
  session_token: z.string().min(8).optional(),
  region: z
    .string()
    .regex(/^[a-z0-9-]{2,32}$/, 'is like eu-central-1')
    .default('us-east-1'),
})

export type AwsKey = z.output<typeof shape>

export function readKey(credential: string): AwsKey | null {
  try {
    return shape.safeParse(JSON.parse(credential)).data ?? null
  } catch {
    return null
  }
}

/** In words for an admin; the value itself is not repeated. */
export const checkKey = (credential: string): string | null =>
  readKey(credential) === null
    ? 'A credential for aws is JSON: {"access_key_id": "...", "secret_access_key": "...", "region": "eu-central-1"}, with a session_token if there is one.'
    : null

/** All of it but the region is secret, the id of the key too: it is of no use to anybody else. */
export function secretParts(credential: string): string[] {
  const key = readKey(credential)
  if (key === null) return []
  const { secret_access_key, session_token, access_key_id } = key
  return [secret_access_key, ...(session_token === undefined ? [] : [session_token]), access_key_id]
}
