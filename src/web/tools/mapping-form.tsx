import type { FC } from 'hono/jsx'
import type { RemoteToolSummary } from '../../mcp-servers/contract/tool-admin'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'

/** What an admin typed to map tools, and the names of those that are checked. */
export interface TypedMapping {
  chosen: string[]
  scope: 'checked' | 'matching'
  grant: string
  tier: string
}

export const emptyMapping: TypedMapping = {
  chosen: [],
  scope: 'checked',
  grant: '',
  tier: 'write',
}

const tiers = { read: 'read', write: 'write', destructive: 'destructive' }

export const MappingFields: FC<{ server: string; typed: TypedMapping }> = ({ server, typed }) => {
  const { grant, tier } = typed
  const form = createForm({ grant, tier })
  return (
    <>
      <Field
        form={form}
        name="grant"
        label="Grant"
        placeholder={`${server}:read`}
        autocomplete="off"
        spellcheck={false}
        hint={`Starts with ${server}: as in ${server}:read.`}
      />
      <Field as="select" form={form} name="tier" label="Tier" options={tiers} />
    </>
  )
}

/** A tool as a form sends it: with the hashes of the texts that its page shows. */
export interface ChosenTool {
  name: string
  /** Of the accepted description. */
  hash: string
  /** Of the change, '' when the server removed the tool; null: the page shows none. */
  offeredHash: string | null
}

/** @param isChangeShown whether the page shows what changed */
export const toChoice = (
  { name, hash, offered_hash: offered }: RemoteToolSummary,
  isChangeShown: boolean,
): string => [name, hash, ...(isChangeShown && offered !== null ? [offered] : [])].join(' ')

export function readChoice(text: string): ChosenTool {
  const [name = '', hash = '', offeredHash = null] = text.split(' ')
  return { name, hash, offeredHash }
}
