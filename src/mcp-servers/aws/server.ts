import type { ToolServer } from '../tool/define-tool'
import { awsUrl, hostsOf } from './aws-client'
import { checkKey, secretParts } from './credential'
import { lambdaInvoke } from './tools/lambda-invoke'
import { s3Delete } from './tools/s3-delete'
import { s3Get } from './tools/s3-get'
import { s3List } from './tools/s3-list'
import { s3Put } from './tools/s3-put'
import { ssmGet } from './tools/ssm-get'

/** One account and region of AWS, or an S3-compatible service that an admin declares in its place. */
export const awsServer: ToolServer = {
  name: 'aws',
  description: 'S3 objects, Lambda functions and Systems Manager parameters.',
  services: {
    builtIn: (service) => (service === 'aws' ? { baseUrl: awsUrl, format: 'any' } : null),
    hostsOf,
    secretParts,
    checkCredential: checkKey,
  },
  tools: [s3Get, s3List, s3Put, s3Delete, lambdaInvoke, ssmGet],
}
