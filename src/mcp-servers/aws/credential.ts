import * as z from 'zod'

/** The schema of the credential: an access key as JSON. */
const shape = z.strictObject({
  access_key_id: z
    .string()
    .regex(/^[A-Za-z0-9_]{8,128}$/, 'Must have at least 8 letters and digits'),
  secret_access_key: z.string().min(8),
  session_token: z.string().min(8).optional(),
  region: z
    .string()
    .regex(/^[a-z0-9-]{2,32}$/, 'Must be a region such as eu-central-1')
    .default('us-east-1'),
})

export type AwsKey = z.output<typeof shape>

/** Parses a credential; null: it is not a valid access key. */
export function readKey(credential: string): AwsKey | null {
  try {
    return shape.safeParse(JSON.parse(credential)).data ?? null
  } catch {
    return null
  }
}

/** Returns the problem with a credential, without its value; null: it is valid. */
export const checkKey = (credential: string): string | null =>
  readKey(credential) === null
    ? 'A credential for aws is JSON: {"access_key_id": "...", "secret_access_key": "...", "region": "eu-central-1"}, with a session_token if there is one.'
    : null

/** Returns the secret parts of a credential: all but the region. The key id is included, as nothing needs it. */
export function secretParts(credential: string): string[] {
  const key = readKey(credential)
  if (key === null) return []
  const { secret_access_key, session_token, access_key_id } = key
  return [secret_access_key, ...(session_token === undefined ? [] : [session_token]), access_key_id]
}
