import * as z from 'zod'
import { presentTime, timeAnswer } from '../http/answers'
import type { NewKey } from './actions'

/** A key without its secret. */
export const keyFields = {
  id: z.string(),
  label: z.string(),
  scopes: z.array(z.enum(['read', 'write'])),
  created_at: timeAnswer,
  expires_at: timeAnswer.nullable().describe('Null for a key that does not expire.'),
}

export const presentKey = (key: Omit<NewKey, 'apiKey'>) => ({
  id: key.id,
  label: key.label,
  scopes: key.scopes,
  created_at: presentTime(key.createdAt),
  expires_at: presentTime(key.expiresAt),
})

export const newKeyAnswer = z.object({
  key: z.object({ ...keyFields, api_key: z.string().describe('Returned only once.') }),
  important: z.string(),
})

/** Presents a key with its secret, which is in no later answer. */
export const presentNewKey = (key: NewKey): z.input<typeof newKeyAnswer> => ({
  key: { ...presentKey(key), api_key: key.apiKey },
  important: 'Save the api_key now. It is shown only once; the hub stores only its hash.',
})
