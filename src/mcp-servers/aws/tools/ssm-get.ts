import * as z from 'zod'
import { aws } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { requestAws } from '../aws-client'
import { awsErrors } from '../errors'

export const ssmGet = defineTool({
  name: 'ssm_get',
  description:
    'Read one parameter from the Parameter Store of AWS Systems Manager. The value of a SecureString is ' +
    'not returned.',
  input: z.strictObject({
    path: z
      .string()
      .max(aws.keyCharsMax)
      .regex(/^\/?[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*$/, 'Must be the name of a parameter')
      .describe('e.g. /shop/prod/url'),
  }),
  tier: 'read',
  grant: { shape: 'aws:ssm:read:*', of: ({ path }) => `aws:ssm:read:${path}`, isScoped: true },
  service: () => 'aws',
  isIdempotent: true,
  doing: 'reading a parameter',
  async run({ input, outside }) {
    const { text } = await requestAws(outside, 'ssm', {
      method: 'POST',
      path: '',
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'AmazonSSM.GetParameter',
      },
      // Agents must not get secrets, so parameters are not decrypted.
      body: JSON.stringify({ Name: input.path, WithDecryption: false }),
    })
    const { Type, Value, Version, LastModifiedDate } = readParameter(text ?? '')
    const isSecret = Type === 'SecureString'
    return {
      path: input.path,
      type: Type,
      value: isSecret ? null : Value,
      version: Version,
      modified_at: new Date(LastModifiedDate * 1000).toISOString(),
      ...(isSecret && { note: 'The value is secret and not returned.' }),
    }
  },
})

const answer = z.object({
  Parameter: z.object({
    Type: z.string(),
    Value: z.string(),
    Version: z.number(),
    LastModifiedDate: z.number(),
  }),
})

function readParameter(text: string) {
  try {
    return answer.parse(JSON.parse(text)).Parameter
  } catch (cause) {
    throw awsErrors.notParameter(cause)
  }
}
