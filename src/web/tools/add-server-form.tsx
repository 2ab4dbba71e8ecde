import type { Child, FC } from 'hono/jsx'
import type { RemoteServerInput } from '../../mcp-servers/contract/tool-admin'
import { Checkbox } from '../form/checkbox'
import { Field } from '../form/field'
import { createForm, type FormState, isChecked } from '../form/form-state'

/** A server as form fields. */
export type TypedServer = Record<ServerField, string>
type ServerField = (typeof serverFields)[number]

export const serverFields = [
  'name',
  'description',
  'base_url',
  'credential',
  'header',
  'oauth_client_id',
  'allow_http',
  'allow_private',
] as const

const emptyServer: TypedServer = {
  name: '',
  description: '',
  base_url: '',
  credential: '',
  header: 'Authorization',
  oauth_client_id: '',
  allow_http: '',
  allow_private: '',
}

/** Converts form fields to a server to add. */
export const toServerInput = (typed: TypedServer): RemoteServerInput => ({
  name: typed.name.trim(),
  description: typed.description.trim(),
  base_url: typed.base_url.trim(),
  oauth_client_id: typed.oauth_client_id.trim() || null,
  credential: typed.credential.trim() || null,
  ...(typed.credential.trim() !== '' && {
    headers: {
      [typed.header.trim()]:
        typed.header.trim().toLowerCase() === 'authorization'
          ? 'Bearer {credential}'
          : '{credential}',
    },
  }),
  allow_http: isChecked(typed.allow_http),
  allow_private: isChecked(typed.allow_private),
})

export const AddServerForm: FC<{ typed: TypedServer | null }> = ({ typed }) => {
  const form = createForm(typed ?? emptyServer)
  return (
    <details class="up4" id="add" {...(typed ? { open: true } : {})}>
      <summary>Add a server</summary>
      <form class="form wide up3" method="post" action="/tools/remote">
        <fieldset>
          <Text
            name="name"
            label="Name"
            form={form}
            hint="The names of its tools start with this name, as in name_tool."
          />
          <Text
            name="base_url"
            label="URL"
            form={form}
            hint="The endpoint of MCP over Streamable HTTP."
          />
          <Text name="description" label="Description" form={form} />
          <Text
            name="credential"
            label="Credential"
            form={form}
            hint={
              <>
                Name of a <a href="/credentials">credential</a> for the server remote. Leave empty
                for none.
              </>
            }
          />
          <Text name="header" label="Credential header" form={form} />
          <Text
            name="oauth_client_id"
            label="OAuth client id"
            form={form}
            hint="Only where people connect their own accounts and the server registers no clients by itself."
          />
          <Checkbox name="allow_http" label="Allow plain http" form={form} />
          <Checkbox name="allow_private" label="Allow private addresses" form={form} />
        </fieldset>
        <button type="submit" class="btn">
          Add server
        </button>
      </form>
    </details>
  )
}

interface TextProps {
  form: FormState<ServerField>
  name: ServerField
  label: string
  hint?: Child
}

const Text: FC<TextProps> = (props) => <Field {...props} id={`remote-${props.name}`} />
