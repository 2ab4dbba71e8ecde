import type { FC } from 'hono/jsx'
import type { RemoteServerInput } from '../../mcp-servers/contract/tool-admin'

/** A server as form fields. */
export type TypedServer = Record<(typeof serverFields)[number], string>

export const serverFields = [
  'name',
  'description',
  'base_url',
  'credential',
  'header',
  'allow_http',
  'allow_private',
] as const

const emptyServer: TypedServer = {
  name: '',
  description: '',
  base_url: '',
  credential: '',
  header: 'Authorization',
  allow_http: '',
  allow_private: '',
}

/** Converts form fields to a server to add. */
export const toServerInput = (typed: TypedServer): RemoteServerInput => ({
  name: typed.name.trim(),
  description: typed.description.trim(),
  base_url: typed.base_url.trim(),
  credential: typed.credential.trim() || null,
  ...(typed.credential.trim() !== '' && {
    headers: {
      [typed.header.trim()]:
        typed.header.trim().toLowerCase() === 'authorization'
          ? 'Bearer {credential}'
          : '{credential}',
    },
  }),
  allow_http: typed.allow_http === 'on',
  allow_private: typed.allow_private === 'on',
})

export const AddServerForm: FC<{ typed: TypedServer | null }> = ({ typed }) => {
  const start = typed ?? emptyServer
  return (
    <details class="up4" id="add" {...(typed ? { open: true } : {})}>
      <summary>Add a server</summary>
      <form class="form wide up3" method="post" action="/tools/remote">
        <fieldset>
          <Field name="name" label="Name" start={start} hint="Its tools are called name_tool." />
          <Field
            name="base_url"
            label="URL"
            start={start}
            hint="The endpoint of MCP over Streamable HTTP."
          />
          <Field name="description" label="Description" start={start} />
          <Field
            name="credential"
            label="Credential"
            start={start}
            hint="Name of a credential, set at /credentials for the server remote. Leave empty for none."
          />
          <Field name="header" label="Credential header" start={start} />
          <Option name="allow_http" label="Allow plain http" start={start} />
          <Option name="allow_private" label="Allow private addresses" start={start} />
        </fieldset>
        <button type="submit" class="btn">
          Add server
        </button>
      </form>
    </details>
  )
}

interface FieldProps {
  name: (typeof serverFields)[number]
  label: string
  start: TypedServer
  hint?: string
}

const Field: FC<FieldProps> = ({ name, label, start, hint }) => (
  <div>
    <label for={`remote-${name}`}>{label}</label>
    <input id={`remote-${name}`} name={name} value={start[name]} />
    {hint && <p class="meta">{hint}</p>}
  </div>
)

const Option: FC<FieldProps> = ({ name, label, start }) => (
  <div>
    <label class="check">
      <input type="checkbox" name={name} checked={start[name] === 'on'} /> {label}
    </label>
  </div>
)
