import type { FC } from 'hono/jsx'
import { type AccountRef, accountKindLabels } from './account-link'

/** Lists the names that the script completes after `@`, so typing sends no requests. */
export const NameList: FC<{ names: AccountRef[] }> = ({ names }) => (
  <datalist id="names">
    {names.map(({ name, kind }) => (
      <option value={name} label={accountKindLabels[kind]} />
    ))}
  </datalist>
)
