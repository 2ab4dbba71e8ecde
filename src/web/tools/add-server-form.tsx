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

/** Labels of the fields, by which an error names them. */
export const serverLabels: TypedServer & { headers: string } = {
  name: 'Name',
  description: 'Description',
  base_url: 'URL',
  credential: 'Credential',
  header: 'Credential header',
  headers: 'Credential header',
  oauth_client_id: 'OAuth client id',
  allow_http: 'Allow plain http',
  allow_private: 'Allow private addresses',
}

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
            label={serverLabels.name}
            form={form}
            hint="The names of its tools start with this name, as in name_tool."
          />
          <Text
            name="base_url"
            label={serverLabels.base_url}
            form={form}
            hint="The endpoint of MCP over Streamable HTTP."
          />
          <Text name="description" label={serverLabels.description} form={form} />
          <Text
            name="credential"
            label={serverLabels.credential}
            form={form}
            hint={
              <>
                Name of a <a href="/credentials">credential</a> for the server remote. Leave empty
                for none.
              </>
            }
          />
          <Text name="header" label={serverLabels.header} form={form} />
          <Text
            name="oauth_client_id"
            label={serverLabels.oauth_client_id}
            form={form}
            hint="Only where people connect their own accounts and the server registers no clients by itself."
          />
          <Checkbox name="allow_http" label={serverLabels.allow_http} form={form} />
          <Checkbox name="allow_private" label={serverLabels.allow_private} form={form} />
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
