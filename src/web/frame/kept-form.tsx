import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import type { HubEnv } from '../../hub/http/page-entry'
import { capitalize } from '../../shared/format'
import { formKeyField, getFormKey, readFields } from './read-form'

/** Names of fields with a key or another secret, which is never sent back. */
export const secretFields = ['key', 'value', 'new_value', 'response']

/** A form that could not be saved, with what was typed. */
export interface Kept {
  action: string
  fields: [name: string, text: string][]
}

/** Returns the form of a request, to be sent again; null for a request without one, and for one with a secret. */
export async function readKeptForm(c: Context<HubEnv>): Promise<Kept | null> {
  if (c.req.method !== 'POST') return null
  const form = await readFields(c).catch(() => new FormData())
  const typed = [...form].flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && name !== formKeyField ? [[name, value]] : [],
  )
  if (typed.some(([name]) => secretFields.includes(name))) return null
  const { pathname, search } = new URL(c.req.url)
  const key = getFormKey(c)
  return { action: pathname + search, fields: key ? [...typed, [formKeyField, key]] : typed }
}

/** Shows a form that could not be saved: texts to be read and copied, and a button that sends it again. */
export const KeptForm: FC<{ kept: Kept }> = ({ kept }) => (
  <form class="form up5" method="post" action={kept.action}>
    {kept.fields.map(([name, text], index) => (
      <KeptField id={`kept-${index}`} name={name} text={text} />
    ))}
    <div>
      <button class="btn" type="submit">
        Send again
      </button>
    </div>
  </form>
)

const KeptField: FC<{ id: string; name: string; text: string }> = ({ id, name, text }) => {
  if (!/\s/.test(text)) return <input type="hidden" name={name} value={text} />
  return (
    <div>
      <label for={id}>{capitalize(name.replaceAll('_', ' '))}</label>
      {text.includes('\n') || text.length > 80 ? (
        <textarea id={id} name={name} rows={6}>
          {text.replaceAll('\r\n', '\n')}
        </textarea>
      ) : (
        <input id={id} name={name} value={text} />
      )}
    </div>
  )
}
