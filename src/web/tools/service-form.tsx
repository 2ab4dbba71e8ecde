import type { FC } from 'hono/jsx'
import type { ServiceInput, ServiceSummary } from '../../mcp-servers/contract/tool-admin'
import { Checkbox } from '../form/checkbox'
import { Field } from '../form/field'
import { createForm, type FormState, isChecked, toCheckboxText } from '../form/form-state'

/** A service as form fields: one host or header a line. */
type ServiceField = (typeof serviceFields)[number]
export type TypedService = Record<ServiceField, string>

export const serviceFields = [
  'server',
  'name',
  'base_url',
  'credential',
  'headers',
  'hosts',
  'format',
  'allow_http',
  'allow_private',
] as const

const emptyService: TypedService = {
  server: 'http',
  name: '',
  base_url: '',
  credential: '',
  headers: '',
  hosts: '',
  format: 'json',
  allow_http: '',
  allow_private: '',
}

/** Converts a service to form fields. */
export const toTyped = (line: ServiceSummary): TypedService => ({
  server: line.server,
  name: line.name,
  base_url: line.base_url,
  credential: line.credential ?? '',
  headers: Object.entries(line.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  hosts: furtherHosts(line).join('\n'),
  format: line.format,
  allow_http: toCheckboxText(line.allow_http),
  allow_private: toCheckboxText(line.allow_private),
})

/** Returns the allowed hosts besides that of the base URL. */
export function furtherHosts({ base_url, hosts }: ServiceSummary): string[] {
  const own = URL.canParse(base_url) ? new URL(base_url).host : ''
  return hosts.filter((host) => host !== own)
}

/** Converts form fields to a service to store. */
export const toServiceInput = (typed: TypedService): ServiceInput => ({
  base_url: typed.base_url.trim(),
  credential: typed.credential.trim() || null,
  // Without headers, the built-in ones of the server apply.
  ...(typed.headers.trim() !== '' && { headers: readHeaders(typed.headers) }),
  hosts: toLines(typed.hosts),
  format: typed.format,
  allow_http: isChecked(typed.allow_http),
  allow_private: isChecked(typed.allow_private),
})

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const readHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    toLines(text).map((line) => {
      const at = line.indexOf(':')
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )

/** Returns the path of the page with the form filled in for a service. */
export const changePath = ({ server, name }: { server: string; name: string }): string =>
  `/credentials?change=${encodeURIComponent(`${server}/${name}`)}#add-service`

interface ServiceFormProps {
  servers: readonly string[]
  /** The submitted fields, or those of the service to edit; null: an empty form. */
  typed: TypedService | null
  isChange: boolean
}

export const ServiceForm: FC<ServiceFormProps> = ({ servers, typed, isChange }) => {
  const start = typed ?? emptyService
  const form = createForm(start)
  return (
    <details class="up4" id="add-service" {...(typed ? { open: true } : {})}>
      <summary>{isChange ? `Change ${start.server} / ${start.name}` : 'Add a service'}</summary>
      <form class="form wide up3" method="post" action="/credentials/services">
        <fieldset>
          <Place form={form} servers={servers} isChange={isChange} />
          <Text name="base_url" label="Base URL" form={form} required />
          <Text
            name="credential"
            label="Credential"
            form={form}
            hint="Name of the credential. Leave empty if the service has only one."
          />
          <Text
            name="headers"
            as="textarea"
            label="Headers"
            form={form}
            hint="One per line. {credential} is replaced: Authorization: Bearer {credential}"
          />
          <Text
            name="hosts"
            as="textarea"
            label="Further hosts"
            form={form}
            hint="Hosts that the service redirects to, one per line. They never receive a credential."
          />
          <Options form={form} />
        </fieldset>
        <div class="acts">
          <button type="submit" class="btn">
            {isChange ? 'Save' : 'Add service'}
          </button>
          {isChange && (
            <a class="ul" href="/credentials#services">
              Cancel
            </a>
          )}
        </div>
      </form>
    </details>
  )
}

interface PartProps {
  form: FormState<ServiceField>
}

const Place: FC<PartProps & { servers: readonly string[]; isChange: boolean }> = (props) => {
  const { form, servers, isChange } = props
  if (isChange) {
    return (
      <>
        <input type="hidden" name="server" value={form.typed.server} />
        <input type="hidden" name="name" value={form.typed.name} />
        <input type="hidden" name="is_change" value="yes" />
      </>
    )
  }
  const options = servers.map((server) => [server, server] as const)
  return (
    <>
      <Field
        as="select"
        form={form}
        name="server"
        id="service-server"
        label="Server"
        options={options}
      />
      <Text
        name="name"
        label="Name"
        form={form}
        hint="Used in grants, as in http:name:read."
        required
      />
    </>
  )
}

interface TextProps extends PartProps {
  as?: 'input' | 'textarea'
  name: ServiceField
  label: string
  hint?: string
  required?: boolean
}

const Text: FC<TextProps> = ({ as = 'input', ...props }) => {
  const common = { ...props, id: `service-${props.name}`, autocomplete: 'off', spellcheck: false }
  return as === 'input' ? <Field {...common} /> : <Field as="textarea" {...common} rows={2} />
}

const formats = { json: 'JSON (a web page is an error)', any: 'Any' }

const Options: FC<PartProps> = ({ form }) => (
  <>
    <Field
      as="select"
      form={form}
      name="format"
      id="service-format"
      label="Response format"
      options={formats}
    />
    <Checkbox form={form} name="allow_http" label="Allow plain http" />
    <Checkbox form={form} name="allow_private" label="Allow private addresses" />
  </>
)
