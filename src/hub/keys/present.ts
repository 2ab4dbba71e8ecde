import * as z from 'zod'
import { timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import type { NewKey } from './actions'

/** A key without its secret. */
export const keyFields = {
  id: z.string(),
  label: z.string(),
  scopes: z.array(z.enum(['read', 'write'])),
  created_at: timeAnswer,
  expires_at: timeAnswer.nullable().describe('Null for a key that does not expire.'),
}

export const presentKey = presenterOf(z.object(keyFields)).from<Omit<NewKey, 'apiKey'>>({})

export const newKeyAnswer = z.object({
  key: z.object({ ...keyFields, api_key: z.string().describe('Returned only once.') }),
})

/** Presents a key with its secret, which is in no later answer. */
export const presentNewKey = (key: NewKey): z.input<typeof newKeyAnswer> => ({
  key: { ...presentKey(key), api_key: key.apiKey },
})
